import { CHANNELS } from '../../core/model/channels.ts';
import { type Finding, type Holdings, ok, refused, type Wanted, warning } from './finding.ts';

/** Switching a part off never orphans data silently. */
export function lossesOf(wanted: Wanted, deployed: Holdings): Finding[] {
  const { channels, api, newsletters, work, mailings, keys } = deployed;
  const dropped = CHANNELS.filter((channel) => channels.includes(channel) && !wanted.channels.includes(channel));
  const losses = dropped.flatMap((channel) => {
    const count = work[channel] ?? 0;
    if (count === 0) return [];
    const says = `The deployment would drop ${channel}, which has ${count} rows or dead letters.`;
    const remedy = [
      'Keep it in channels until they are delivered, or end them',
      `unfinished ones by npm run ops -- list --status unfinished --channel ${channel}, then npm run ops -- cancel LOG_ID…`,
      `dead ones by npm run ops -- dlq drop --channel ${channel} --all`,
    ].join('; ');
    return [refused('parts', says, remedy)];
  });
  const would = (what: string) =>
    wanted.retain
      ? `The deployment would leave behind ${what}, and start empty when it is switched on again.`
      : `The deployment would delete ${what}.`;
  losses.push(...stopsOf(wanted, deployed), ...tiesOf(wanted, deployed), ...keyOf(wanted, deployed));
  if (newsletters && !wanted.newsletters && mailings) {
    const says = would('the tables of newsletters, which hold something');
    const remedy = 'Keep newsletters true, or "data", which keeps these tables, but sends nothing.';
    losses.push(refused('parts', says, remedy));
  }
  if (api && !wanted.api && keys) {
    const remedy = 'Revoke them first: npm run ops -- keys list, then npm run ops -- keys revoke KEY_ID';
    losses.push(refused('parts', would('the API keys of producers'), remedy));
  }
  return losses.length > 0 ? losses : [ok('parts', 'The deployment drops nothing that holds something.')];
}

/** The data keys of recipients are wrapped by the key that was there when they were made. */
function keyOf({ encryptionKeyArn: next }: Wanted, { encryptionKeyArn: now, sealed }: Holdings): Finding[] {
  if (next === now || next === null || !sealed) return [];
  const says =
    'The deployment would change the key that opens all recipients so far: nothing that waits could be sent.';
  return [refused('key', says, 'Keep encryptionKeyArn as it was at the first deployment.')];
}

/** What leaving `true` ends, whatever is kept. */
function stopsOf(wanted: Wanted, { newsletters, mailings, unfinished }: Holdings): Finding[] {
  if (newsletters !== true || wanted.newsletters === true) return [];
  if (unfinished) {
    const remedy =
      'Wait for their end, or npm run ops -- emails list --tenant TENANT_ID, then npm run ops -- emails cancel EMAIL_ID';
    return [refused('parts', 'The deployment would stop newsletters halfway: some are unfinished.', remedy)];
  }
  if (!mailings) return [];
  const says = 'The unsubscribe links of all newsletters sent so far would answer 404.';
  return [warning('parts', says, 'Keep newsletters true for as long as recipients may use them: two years.')];
}

/** What others listen to, or sign in with. */
function tiesOf(wanted: Wanted, { outcomes, monitoring, console, untold, ties }: Holdings): Finding[] {
  const found: Finding[] = [];
  if (outcomes && !wanted.outcomes && ties.rules.length > 0) {
    const says = `The deployment would delete the bus of outcomes, to which rules listen: ${ties.rules.join(', ')}.`;
    const remedy = 'Delete them first: AWS keeps a bus that has rules, and its name then bars the next one.';
    found.push(refused('parts', says, remedy));
  }
  if (outcomes && !wanted.outcomes && untold > 0) {
    const says = `The deployment would drop what producers were not told: ${untold} entries of a queue.`;
    const remedy =
      'npm run ops -- outcomes resend --from TIME --to TIME, then purge the queue in output OutcomesFailures';
    found.push(refused('parts', says, remedy));
  }
  if (monitoring && !wanted.monitoring && ties.subscribers > 0) {
    const says = `${ties.subscribers} subscribers would get no alarms and notices any more.`;
    found.push(warning('parts', says, 'Keep monitoring "critical", and they stay subscribed.'));
  }
  if (console && !wanted.console) {
    const says = 'The console would be gone, and with a user pool of the stack everybody who signs in to it.';
    found.push(warning('parts', says, 'Without it, npm run ops -- console serves it on your machine.'));
  }
  return found;
}
