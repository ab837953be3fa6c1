import { expect } from 'vitest';
import { CHANNELS } from '../../../src/core/model/channels.ts';
import { ended } from '../../../tools/simulation/audit/end-promises.ts';
import { NOTHING_YET } from '../../../tools/simulation/audit/memory.ts';
import type { Flow } from '../flow/harness.ts';

interface Letters {
  readonly dead_letters: readonly { readonly log_id: string; readonly state: string }[];
}
/** The log_ids of what the dead-letter queues hold. */
export async function lettersOf(flow: Flow): Promise<readonly string[]> {
  const found: string[] = [];
  for (const channel of CHANNELS) {
    const listed = await flow.opsJson<Letters>('dlq', 'list', '--channel', channel, '--limit', '1000');
    found.push(...listed.dead_letters.filter(({ state }) => state === 'redrive').map(({ log_id }) => log_id));
  }
  return found;
}

/** What the receivers accepted, by notification. Requests to Slack and Teams name it in their text. */
async function requests(
  flow: Flow,
  handedOver: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, readonly { readonly accepted: boolean }[]>> {
  return Map.groupBy(await flow.received(), ({ log_id, body }) => {
    const [text = '', name = ''] = /id=([\w-]+);/.exec(body) ?? [];
    return log_id ?? handedOver.get(text) ?? name;
  });
}

/**
 * What the tables, dead-letter queues and receivers say of the notifications, when nothing is left to do.
 * @param handedOver log_ids that the API chose, by the text that receivers see
 * @param excused attempts of theirs may have been made again: they were under way when a runtime was killed
 */
export async function auditTables(
  flow: Flow,
  { handedOver, excused }: Record<'handedOver', ReadonlyMap<string, string>> & Record<'excused', ReadonlySet<string>>,
): Promise<void> {
  const rows = await flow.rows();
  const records = (await Promise.all(rows.map(({ log_id }) => flow.records(String(log_id))))).flat();
  const attempts = Map.groupBy(records, ({ original_log_id }) => String(original_log_id));
  const seen = await requests(flow, handedOver);
  const accepted = Object.fromEntries(
    [...seen].flatMap(([log_id, all]) => (all.some((one) => one.accepted) ? [[log_id, []]] : [])),
  );
  const found = await lettersOf(flow);
  expect(found.length, 'one letter each').toBe(new Set(found).size);
  const wrong = rows.flatMap((one) => {
    const why = ended({ ...NOTHING_YET, accepted }, { rows: [one], records, letters: found });
    return why.map((violation) => `${String(one['log_id'])}: ${violation}`);
  });
  expect(wrong).toEqual([]);
  for (const [log_id, all] of seen) {
    if (excused.has(log_id)) continue;
    expect(all.filter((one) => one.accepted).length, `${log_id} was delivered once`).toBeLessThanOrEqual(1);
    const made = (attempts.get(log_id) ?? []).filter(({ retry_status }) => retry_status !== 'SKIPPED');
    expect(all.length, `each attempt on ${log_id} has its record`).toBeLessThanOrEqual(made.length);
  }
}
