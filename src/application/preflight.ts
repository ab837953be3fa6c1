import type { AccountFacts, Ties } from '../adapters/deployment/account-facts.ts';
import { CHANNELS, type Channel } from '../core/model/channels.ts';
import { beyondStage, type Writing } from '../core/newsletter/model/senders.ts';

/** What a stage takes, as its configuration says it. */
export interface Parts {
  readonly channels: readonly Channel[];
  readonly api: boolean;
  /** `data`: their tables, keys and secrets alone. */
  readonly newsletters: boolean | 'data';
  readonly outcomes: boolean;
  /** Whether there are alarms. */
  readonly monitoring: boolean;
  /** Whether the console is on the web. */
  readonly console: boolean;
}

/** The stage as cdk.json has it. */
export interface Wanted extends Parts {
  readonly stage: string;
  /** As whom newsletters may be sent: addresses, and `*@domain`. */
  readonly newsletter_senders: readonly string[];
  /** Whether what goes is left behind. */
  readonly retain: boolean;
  /** The concurrency of the account for which it reserves some. */
  readonly account_limit?: number | undefined;
}

/** What the deployed stage holds. */
export interface Holdings extends Parts {
  /** Rows that are due, wait or are dead, and dead letters, by channel. */
  readonly work: Readonly<Partial<Record<Channel, number>>>;
  readonly writing: readonly Writing[];
  /** Something in a table of newsletters. */
  readonly mailings: boolean;
  /** An email that waits or is being sent, or a message of one. */
  readonly unfinished: boolean;
  /** One that is neither revoked nor expired. */
  readonly keys: boolean;
  /** Outcomes that the bus did not take within a day. */
  readonly untold: number;
  readonly ties: Ties;
}

export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'refused';
  /** One sentence. */
  readonly says: string;
  /** What to do about it. */
  readonly remedy?: string;
}

/** Lambda's default, and what it gives to a new account. */
const USUAL_CONCURRENCY = 1_000;
const NEW_ACCOUNT = 10;
/** The oldest that the CDK deploys stacks by. */
const BOOTSTRAP = 6;

/** Whether a stage can be deployed here, and what the deployment would lose: one finding per subject. */
export function preflight(facts: AccountFacts, wanted: Wanted, deployed?: Holdings): Finding[] {
  if (facts.region === undefined || facts.region === '') {
    return [refused('region', 'No region is set.', 'Set AWS_REGION to the region of the stage.')];
  }
  if (facts.refused !== undefined) {
    return [
      refused(
        'credentials',
        `AWS cannot be asked: ${facts.refused}.`,
        'Sign in to the account, such as with aws sso login. If you are, it is the network, or the right cloudformation:DescribeStacks.',
      ),
    ];
  }
  return [
    ok('stage', `The stage is ${wanted.stage}.`),
    ok('region', `The region is ${facts.region}.`),
    ok('credentials', 'AWS answers.'),
    ...[bootstrapOf(facts), concurrencyOf(facts, wanted), ...(wanted.channels.includes('email') ? [sesOf(facts)] : [])],
    ...cloudFrontOf(facts, wanted),
    ...stackOf(facts),
    ...(deployed ? [...sendersOf(wanted, deployed), ...lossesOf(wanted, deployed)] : []),
  ];
}

function bootstrapOf({ bootstrap = 0, region, stack }: AccountFacts): Finding {
  if (bootstrap >= BOOTSTRAP) return ok('bootstrap', `The CDK is bootstrapped (version ${bootstrap}).`);
  if (bootstrap === 0 && isReadable(stack)) {
    const says = 'The stage is deployed, but its account has no stack CDKToolkit.';
    return warning('bootstrap', says, 'If the bootstrap has another name there, all is well.');
  }
  const says = bootstrap === 0 ? 'The CDK is not bootstrapped here.' : `The bootstrap is old: version ${bootstrap}.`;
  return refused('bootstrap', says, `npx cdk bootstrap aws://ACCOUNT/${region}`);
}

function concurrencyOf({ concurrency }: AccountFacts, { account_limit = 0 }: Wanted): Finding {
  if (concurrency === undefined)
    return warning('lambda', "Lambda's limit could not be read.", 'Allow lambda:GetAccountSettings.');
  if (account_limit > concurrency) {
    const says = `Lambda runs ${concurrency} functions at once, and cdk.json reserves as if it were ${account_limit}.`;
    return refused('lambda', says, 'Set reservedConcurrency.accountLimit to what the account has, or leave it out.');
  }
  if (concurrency >= USUAL_CONCURRENCY) return ok('lambda', `Lambda runs ${concurrency} functions at once.`);
  const raise = 'Ask Service Quotas for 1,000 concurrent executions of Lambda; it takes a day or two.';
  const says = `Lambda runs ${concurrency} functions at once, and the lanes want more:`;
  if (concurrency > NEW_ACCOUNT) return warning('lambda', `${says} a backlog drains slowly.`, raise);
  return refused('lambda', `${says} throttled messages end in the dead-letter queues.`, raise);
}

/**
 * AWS tells an unverified account only when it makes a distribution, and refuses that: "Your account must be verified
 * before you can add new CloudFront resources". Lambda's small limit is the other sign of a new account.
 */
function cloudFrontOf({ concurrency, stack }: AccountFacts, { console }: Wanted): Finding[] {
  const isNew = concurrency !== undefined && concurrency <= NEW_ACCOUNT;
  if (!console || !isNew || isReadable(stack)) return [];
  const says =
    'CloudFront refuses distributions of new accounts until AWS has verified them, and the console needs one.';
  const remedy = 'Ask AWS Support to verify the account for CloudFront, or deploy with console "off" first.';
  return [warning('cloudfront', says, remedy)];
}

function sesOf({ ses }: AccountFacts): Finding {
  if (ses === undefined) return warning('ses', "SES's account could not be read.", 'Allow ses:GetAccount.');
  if (!ses.sending)
    return refused('ses', 'SES has paused sending.', 'See the reason in the SES console, and answer it.');
  if (!ses.knows_sender) {
    const says = "SES has not verified the stage's sender or its domain in this region, and refuses every mail of it.";
    return warning('ses', says, 'Verify the domain in the SES console under Configuration, Identities.');
  }
  if (ses.production) return ok('ses', `SES takes ${ses.per_day} e-mails in 24 hours.`);
  const says = 'SES is in its sandbox: it sends to verified addresses only, 200 a day.';
  return warning('ses', says, 'Ask for production access in the SES console.');
}

function sendersOf({ newsletters, newsletter_senders }: Wanted, { writing }: Holdings): Finding[] {
  const says = newsletters === true ? beyondStage(writing, newsletter_senders) : undefined;
  const remedy = 'AWS compares capitals before the @: write it alike in newsletter.senders and in the newsletter.';
  return says === undefined ? [] : [warning('senders', says, remedy)];
}

/** A stack that only a deletion brings further: its first deployment failed, or its deletion did. */
const DOOMED: readonly string[] = ['ROLLBACK_COMPLETE', 'ROLLBACK_FAILED', 'DELETE_FAILED'];
const SETTLED = /^(CREATE_COMPLETE|UPDATE_COMPLETE|UPDATE_ROLLBACK_COMPLETE|IMPORT_(ROLLBACK_)?COMPLETE)$/;

/** Whether the stack's outputs name what is there: not before its first deployment is through, nor while it goes. */
export function isReadable(stack: AccountFacts['stack']): boolean {
  if (stack === undefined) return false;
  return (
    Object.keys(stack.outputs).length > 0 && !DOOMED.includes(stack.status) && !/^(ROLLBACK|DELETE)_/.test(stack.status)
  );
}

function stackOf({ stack }: AccountFacts): Finding[] {
  if (stack === undefined) return [];
  const { name, status, is_protected } = stack;
  const is = `${name} is ${status}`;
  if (SETTLED.test(status)) return [ok('stack', `${is}.`)];
  if (status === 'REVIEW_IN_PROGRESS') return [ok('stack', `${is}: nothing is deployed yet.`)];
  if (status.endsWith('_IN_PROGRESS')) return [warning('stack', `${is}.`, 'Wait for its end.')];
  if (status === 'UPDATE_ROLLBACK_FAILED') {
    const remedy = `aws cloudformation continue-update-rollback --stack-name ${name}`;
    return [refused('stack', `${is}: no update is possible before its rollback is through.`, remedy)];
  }
  if (!DOOMED.includes(status)) {
    return [refused('stack', `${is}.`, "See the reason in the stack's events in the CloudFormation console.")];
  }
  const unprotect = `aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name ${name}`;
  const remove = `aws cloudformation delete-stack --stack-name ${name}`;
  return [
    refused(
      'stack',
      `${is}: it can only be deleted${is_protected ? ', and is protected' : ''}.`,
      [...(is_protected ? [unprotect] : []), remove, 'then npm run ops -- preflight --leftovers'].join('; '),
    ),
  ];
}

/** Switching a part off never orphans data silently. */
function lossesOf(wanted: Wanted, deployed: Holdings): Finding[] {
  const { channels, api, newsletters, work, mailings, keys } = deployed;
  const dropped = CHANNELS.filter((channel) => channels.includes(channel) && !wanted.channels.includes(channel));
  const losses = dropped.flatMap((channel) => {
    const count = work[channel] ?? 0;
    if (count === 0) return [];
    const says = `The deployment would drop ${channel}, which has ${count} rows or dead letters.`;
    const remedy = [
      'Keep it in channels until they are delivered, or end them',
      `waiting ones by npm run ops -- list --status due --channel ${channel}, then npm run ops -- cancel LOG_ID…`,
      `dead ones by npm run ops -- dlq drop --channel ${channel} --all`,
    ].join('; ');
    return [refused('parts', says, remedy)];
  });
  const would = (what: string) =>
    wanted.retain
      ? `The deployment would leave behind ${what}, and start empty when it is switched on again.`
      : `The deployment would delete ${what}.`;
  losses.push(...stopsOf(wanted, deployed), ...tiesOf(wanted, deployed));
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

const ok = (check: string, says: string): Finding => ({ check, state: 'ok', says });
const warning = (check: string, says: string, remedy: string): Finding => ({ check, state: 'warning', says, remedy });
const refused = (check: string, says: string, remedy: string): Finding => ({ check, state: 'refused', says, remedy });
