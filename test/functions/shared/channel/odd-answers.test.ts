import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import type { SQSEvent } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHandler } from '../../../../functions/shared/channel/channel-function.ts';
import { createSlackSender } from '../../../../src/adapters/slack/sender.ts';
import { createTeamsSender } from '../../../../src/adapters/teams/sender.ts';
import { createWebhookSender } from '../../../../src/adapters/webhook/sender.ts';
import type { Sender } from '../../../../src/core/delivery/ports.ts';
import type { Channel } from '../../../../src/core/model/channels.ts';
import { DEFAULT_RETRY_POLICY } from '../../../../src/core/model/retry-policy.ts';
import { MemoryTables } from '../../../../tools/simulation/twins/memory-tables.ts';
import { ANSWERS, type AnswerCase } from '../../../corpus/answers/cases.ts';
import { type RawReceiver, startRawReceiver } from '../../../support/http/raw-receiver.ts';
import { credentialsOf } from '../../../support/memory-secrets.ts';
import { unpaced } from '../../../support/pacing.ts';
import { dueRow, iso, messageFor, T0 } from '../../../support/rows.ts';

const QUIET = { logger: new Logger({ logLevel: 'SILENT' }), metrics: new Metrics({ namespace: 'test' }) };
const LANE = 'http://127.0.0.1/lane';

let receiver: RawReceiver;
beforeAll(async () => {
  receiver = await startRawReceiver();
});
afterAll(() => receiver.close());

const DOORS = ['webhook', 'Slack webhook', 'Slack token', 'Teams'] as const;
type Door = (typeof DOORS)[number];

/** A sender of its own per message: a connection of the message before would carry its answer's rest. */
function senderOf(door: Door, timeoutMs: number): { readonly channel: Channel; readonly sender: Sender } {
  const { url } = receiver;
  const secret = { webhook: { url }, 'Slack webhook': { webhook_url: url }, 'Slack token': { token: 'xoxb-1' } };
  const credentials = credentialsOf({ one: door === 'Teams' ? { webhook_url: url } : secret[door] });
  const http = { credentials, allowPrivateTargets: true, timeoutMs };
  if (door === 'webhook') return { channel: 'webhook', sender: createWebhookSender(http) };
  if (door === 'Teams') return { channel: 'teams', sender: createTeamsSender(http) };
  return { channel: 'slack', sender: createSlackSender({ ...http, slackApiUrl: url }) };
}

/** One message through the handler of a channel's function, on tables in memory. @returns the row, and how often was posted */
async function deliver(door: Door, answer: AnswerCase) {
  const { channel, sender } = senderOf(door, answer.name.endsWith('silence') ? 300 : 10_000);
  const tables = new MemoryTables(() => T0);
  const handler = createHandler(
    {
      admission: unpaced(),
      giveBack: async () => 0,
      queues: { express: LANE, standard: LANE },
      deliver: {
        rows: tables.rows,
        records: tables.records,
        contents: tables.contents,
        successors: tables.successors,
        sender,
        retries: { send: async () => {} },
        policy: DEFAULT_RETRY_POLICY,
        clock: () => T0,
        random: () => 0,
        claim_ms: 65_000,
        inSendTime: (send) => send(new AbortController().signal),
        pause: async () => {},
      },
    },
    QUIET,
  );
  const row = dueRow({ channel, integration_config_id: 'one' });
  tables.log.set(row.log_id, { ...row });
  // An early answer comes while much of the body is still to be written.
  const body = answer.early ? 'x'.repeat(channel === 'teams' ? 20_000 : 39_000) : 'Hello';
  tables.content.set(row.log_id, { tenant_id: row.tenant_id, recipient: '#ops', body, format: 'PLAIN' });
  receiver.answer = answer;
  receiver.posts = 0;
  const record = { messageId: '1', receiptHandle: '1', body: JSON.stringify(messageFor(row)) };
  const attributes = { SentTimestamp: String(T0.getTime()), ApproximateReceiveCount: '1' };
  const event = { Records: [{ ...record, attributes, eventSourceARN: 'arn:aws:sqs:local:0:lane' }] };
  await handler(event as unknown as SQSEvent, { getRemainingTimeInMillis: () => 60_000 });
  return { row: tables.log.get(row.log_id), posts: receiver.posts };
}

const RETRIED = { send_status: 'RETRY', error_type: 'SERVER_OVERLOAD' };
const MEANS: Readonly<Record<number, object>> = {
  99: RETRIED,
  304: { send_status: 'FAILED', error_type: 'INVALID_RECIPIENT' },
  401: { send_status: 'FAILED', error_type: 'AUTH_FAILED' },
  413: { send_status: 'FAILED', error_type: 'FORMAT_ERROR' },
  429: { send_status: 'RETRY', error_type: 'RATE_LIMITED', work_at: iso(900_000) },
  502: RETRIED,
  503: RETRIED,
  999: RETRIED,
};

function readingOf(door: Door, { status = 0, text = '', cut, says }: AnswerCase): object {
  if (status === 0) {
    return { send_status: 'RETRY', error_type: 'NETWORK_TIMEOUT', error_message: expect.stringContaining(says ?? '') };
  }
  if (status < 200 || status >= 300) return MEANS[status] ?? {};
  // Slack's Web API answers with JSON.
  if (door === 'Slack token' && !cut && text !== '') return { send_status: 'RETRY', error_type: 'UNKNOWN' };
  if (cut && door !== 'webhook')
    return { send_status: 'SUCCESS', response_message: expect.stringMatching(/^unclear:/) };
  return { send_status: 'SUCCESS' };
}

describe.each(DOORS)('an answer to the %s function', (door) => {
  it.each(ANSWERS.map((one) => [one.name, one] as const))('is read right: %s', async (_, answer) => {
    const { row, posts } = await deliver(door, answer);
    expect(row).toMatchObject(readingOf(door, answer));
    expect(posts).toBe(1);
  });
});
