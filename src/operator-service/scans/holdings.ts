import { ScanCommand } from '@aws-sdk/client-dynamodb';
import type { Outputs, Ties } from '../../adapters/deployment/account-facts.ts';
import { createShardMark } from '../../adapters/dynamodb/indexing/shard-mark.ts';
import { ACTIVE_EMAILS_INDEX } from '../../adapters/dynamodb/schema.ts';
import { createDueIndex } from '../../adapters/dynamodb/sweep/due-index.ts';
import { queueCounts } from '../../adapters/sqs/queue-counts.ts';
import { type Channel, channelsIn } from '../../core/model/channels.ts';
import { laneStatus } from '../../core/operator/views/pipeline-status.ts';
import type { OperatorDeps } from '../deps.ts';
import { listKeys } from '../keys.ts';
import type { Holdings } from '../preflight.ts';

const OF_NEWSLETTERS = ['newsletters', 'members', 'emails', 'email_batches', 'email_recipients'] as const;

/** What a change of the stage's parts would drop. */
export async function holdingsOf(
  { deployment, dynamodb, sqs, clock }: Pick<OperatorDeps, 'deployment' | 'dynamodb' | 'sqs' | 'clock'>,
  outputs: Outputs,
  ties: Ties,
): Promise<Holdings> {
  const { tables, lane_queues, newsletter_queues } = deployment;
  const channels = channelsIn(lane_queues);
  const mark = createShardMark(dynamodb, tables.pipeline_state);
  const index = createDueIndex(dynamodb, tables.notification_log, async () => (await mark.read()).work);
  const lettersIn = async (url: string) => {
    const { visible, in_flight } = await queueCounts(sqs, url);
    return visible + in_flight;
  };
  const rows = await laneStatus({ index, channels, inFlight: async () => 0, now: clock() });
  const work: { [C in Channel]?: number } = {};
  for (const channel of channels) {
    const own = rows.filter((lane) => lane.channel === channel);
    const inIndex = own.reduce((sum, { due, waiting, dead }) => sum + due + waiting + dead, 0);
    // A dead row has a letter as a rule.
    work[channel] = Math.max(inIndex, await lettersIn(deployment.dead_letter_queues[channel]));
  }
  const has = (table: keyof typeof tables) => Object.keys(tables).includes(table);
  const holds = async (table: keyof typeof tables, IndexName?: string) =>
    has(table) &&
    ((await dynamodb.send(new ScanCommand({ TableName: tables[table], IndexName, Limit: 1 }))).Count ?? 0) > 0;
  const mailings = (await Promise.all(OF_NEWSLETTERS.map((table) => holds(table)))).includes(true);
  const queues = Object.values(newsletter_queues);
  const messages = await Promise.all(queues.map(lettersIn));
  const unfinished = messages.some((count) => count > 0) || (await holds('emails', ACTIVE_EMAILS_INDEX));
  const shown = has('api_keys') ? await listKeys(undefined, { dynamodb, deployment, clock }) : [];
  const keys = shown.some(({ state }) => state === 'valid');
  const newsletters = has('members') && (queues.length > 0 || 'data');
  const { OutcomesFailures, AlertsTopic, ConsoleUrl } = outputs;
  return {
    ...{ channels, work, api: has('api_keys'), newsletters, mailings, unfinished, keys },
    ...{ outcomes: OutcomesFailures !== undefined, monitoring: AlertsTopic !== undefined },
    console: ConsoleUrl !== undefined,
    untold: OutcomesFailures === undefined ? 0 : await lettersIn(OutcomesFailures),
    ties,
  };
}
