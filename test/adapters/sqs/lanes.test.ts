import { type ChangeMessageVisibilityBatchCommand, CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRetryQueue, createSweepLanes, returnToQueue } from '../../../src/adapters/sqs/lanes.ts';
import type { QueuedMessage } from '../../../src/core/model/queue-message.ts';
import { type Loopback, replying, startLoopback } from '../../support/loopback.ts';
import { dueRow, messageFor } from '../../support/rows.ts';

const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const clientOf = (endpoint: string) =>
  new SQSClient({
    endpoint,
    region: 'us-east-1',
    credentials,
    useQueueUrlAsEndpoint: false,
    maxAttempts: 1,
    md5: false,
  });
const lanes = (url: string) => ({ express: url, standard: url });
const everywhere = (url: string) => ({ email: lanes(url), slack: lanes(url), teams: lanes(url), webhook: lanes(url) });
const messages = (count: number): QueuedMessage[] =>
  Array.from({ length: count }, (_, i) => ({ message: messageFor(dueRow({ log_id: `log-${i}` })), delay_seconds: 0 }));

interface Entry {
  readonly Id: string;
  readonly MessageBody: string;
}

let refusals: [string, number][] = [];
const onRefused = (reason: string, count: number) => void refusals.push([reason, count]);
beforeEach(() => {
  refusals = [];
});

it('returns the others of a full batch while one request hangs', async () => {
  const returned = Array.from({ length: 25 }, (_, i) => ({ receipt_handle: `r-${i}`, after_seconds: 30 }));
  const set: string[] = [];
  const client = {
    async send({ input }: ChangeMessageVisibilityBatchCommand, { abortSignal }: { abortSignal: AbortSignal }) {
      const handles = input.Entries?.map(({ ReceiptHandle = '' }) => ReceiptHandle) ?? [];
      abortSignal.throwIfAborted();
      if (handles.includes('r-0')) await new Promise((_, cut) => abortSignal.addEventListener('abort', cut));
      set.push(...handles);
      return { Failed: [{ Id: '1' }] };
    },
  };
  expect(await returnToQueue(client as never, 'https://sqs.test/1/lane', returned)).toBe(12);
  expect(set).toEqual(returned.slice(10).map(({ receipt_handle }) => receipt_handle));
});

describe('lanes that SQS refuses as a whole', () => {
  let server: FauxqsServer;
  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
  });
  afterAll(() => server.stop());

  it('return every message and report the reason once', async () => {
    const outgoing = messages(25);
    const missing = `${server.address}/000000000000/missing`;
    const refused = await createSweepLanes(clientOf(server.address), everywhere(missing), { onRefused }).send(outgoing);

    expect(new Set(refused)).toEqual(new Set(outgoing));
    expect(refusals).toEqual([[expect.stringMatching(/QueueDoesNotExist/), 25]]);
  });

  it('reject a retry with the reason', async () => {
    const missing = `${server.address}/000000000000/missing`;
    const queue = createRetryQueue(clientOf(server.address), everywhere(missing), { onRefused });

    await expect(queue.send(messageFor(dueRow()), 5)).rejects.toThrow(/SQS took no retry message: .*QueueDoesNotExist/);
    expect(refusals).toEqual([[expect.stringMatching(/QueueDoesNotExist/), 1]]);
  });

  it('refuse what goes to a channel that the stage does not have, and send the others', async () => {
    const client = clientOf(server.address);
    const { QueueUrl: url = '' } = await client.send(new CreateQueueCommand({ QueueName: 'webhook' }));
    const [here] = messages(1);
    const elsewhere = { message: messageFor(dueRow({ log_id: 'log-t', channel: 'teams' })), delay_seconds: 0 };
    const stage = createSweepLanes(client, { webhook: lanes(url) }, { onRefused });

    expect(await stage.send(here ? [here, elsewhere] : [])).toEqual([elsewhere]);
    expect(await stage.backlog('teams', 'express')).toBe(0);
    expect(refusals).toEqual([['the stage has no channel teams', 1]]);
  });

  it('report nothing when SQS accepts all', async () => {
    const client = clientOf(server.address);
    const { QueueUrl = '' } = await client.send(new CreateQueueCommand({ QueueName: 'fine' }));

    expect(await createSweepLanes(client, everywhere(QueueUrl), { onRefused }).send(messages(12))).toEqual([]);
    expect(refusals).toEqual([]);
  });
});

describe('lanes of which SQS refuses some', () => {
  let server: Loopback;
  beforeAll(async () => {
    server = await startLoopback();
  });
  afterAll(() => server.close());

  /** Refuses an entry as often as `times` says for its log_id. */
  function refusing(times: Record<string, number>): string[][] {
    const rounds: string[][] = [];
    server.answer = (response, { body, headers, method, path, ...rest }) => {
      const entries: Entry[] = JSON.parse(body).Entries;
      const idOf = ({ MessageBody }: Entry): string => JSON.parse(MessageBody).log_id;
      rounds.push(entries.map(idOf));
      const failed = entries.filter((entry) => {
        const left = times[idOf(entry)] ?? 0;
        times[idOf(entry)] = left - 1;
        return left > 0;
      });
      const answer = {
        Successful: entries.filter((entry) => !failed.includes(entry)).map(({ Id }) => ({ Id, MessageId: Id })),
        Failed: failed.map(({ Id }) => ({ Id, Code: 'InternalError', Message: 'try later', SenderFault: false })),
      };
      replying(200, JSON.stringify(answer), { 'content-type': 'application/x-amz-json-1.0' })(response, {
        body,
        headers,
        method,
        path,
        ...rest,
      });
    };
    return rounds;
  }
  const send = (outgoing: readonly QueuedMessage[]) =>
    createSweepLanes(clientOf(server.url), everywhere(`${server.url}/q`), { onRefused }).send(outgoing);

  it('send only the refused messages again', async () => {
    const rounds = refusing({ 'log-1': 1 });

    expect(await send(messages(3))).toEqual([]);
    expect(rounds).toEqual([['log-0', 'log-1', 'log-2'], ['log-1']]);
    expect(refusals).toEqual([]);
  });

  it('return the messages that stay refused, with SQS’s code', async () => {
    refusing({ 'log-0': 9, 'log-2': 9 });
    const outgoing = messages(3);

    expect(await send(outgoing)).toEqual([outgoing[0], outgoing[2]]);
    expect(refusals).toEqual([['InternalError: try later', 2]]);
  });
});

describe('lanes whose answer is lost', () => {
  let server: Loopback;
  beforeAll(async () => {
    server = await startLoopback();
  });
  afterAll(() => server.close());

  /** Answers the first call with an error of SQS, after which nobody knows whether it took the messages. */
  function losing(answers: number): { run_id: string; delay_seconds: number }[][] {
    const rounds: { run_id: string; delay_seconds: number }[][] = [];
    server.answer = (response, request) => {
      const entries: (Entry & { readonly DelaySeconds?: number })[] = JSON.parse(request.body).Entries;
      rounds.push(
        entries.map(({ MessageBody, DelaySeconds = 0 }) => ({
          run_id: JSON.parse(MessageBody).run_id,
          delay_seconds: DelaySeconds,
        })),
      );
      const answer = { Successful: entries.map(({ Id }) => ({ Id, MessageId: Id })), Failed: [] };
      const lost = rounds.length <= answers;
      replying(lost ? 503 : 200, lost ? '{}' : JSON.stringify(answer), {
        'content-type': 'application/x-amz-json-1.0',
      })(response, request);
    };
    return rounds;
  }
  /** As deployed: the SDK repeats what failed. */
  const client = () =>
    new SQSClient({
      endpoint: server.url,
      region: 'us-east-1',
      credentials,
      useQueueUrlAsEndpoint: false,
      md5: false,
    });
  const send = (outgoing: readonly QueuedMessage[]) =>
    createSweepLanes(client(), everywhere(`${server.url}/q`), { onRefused }).send(outgoing);

  it('send other messages, so that none passes for a redrive of the one that SQS may have taken', async () => {
    const rounds = losing(2);
    const [one] = messages(1);
    expect(await send([{ ...(one as QueuedMessage), delay_seconds: 7 }])).toEqual([]);
    expect(rounds.map(([entry]) => entry)).toEqual([
      { run_id: 'sweep-1', delay_seconds: 7 },
      { run_id: expect.stringMatching(/^sweep-1#[0-9a-z]{6}$/), delay_seconds: 7 },
      { run_id: expect.stringMatching(/^sweep-1#[0-9a-z]{6}$/), delay_seconds: 7 },
    ]);
    expect(new Set(rounds.map(([entry]) => entry?.run_id)).size).toBe(3);
  });

  it('return the very messages when no answer comes at all', async () => {
    const rounds = losing(9);
    const outgoing = messages(2);
    expect(await send(outgoing)).toEqual(outgoing);
    expect(rounds).toHaveLength(3);
    expect(refusals).toHaveLength(1);
  });

  it('send no copy again, which has to keep its run', async () => {
    const rounds = losing(1);
    const [plain, other] = messages(2);
    const copy = { ...other, message: { ...other?.message, enqueued_at: '2026-03-01T10:30:00.000Z' } } as QueuedMessage;
    expect(await send([plain as QueuedMessage, copy])).toEqual([copy]);
    expect(rounds.map((entries) => entries.length)).toEqual([2, 1]);
  });
});
