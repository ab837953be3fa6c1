import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, describe, expect, it } from 'vitest';
import { type RedriveProgress, RedriveRunningError, redriveByTask } from '../../../../src/adapters/sqs/redrive.ts';

type Answer = { readonly status?: number; readonly body: object };
type Script = Readonly<Record<string, (call: number, input: Record<string, unknown>) => Answer>>;

let server: Server | undefined;
afterEach(() => server?.close());

/** The answers of SQS in its JSON protocol, because no stand-in has message move tasks. */
async function sqs(script: Script) {
  const calls: [string, Record<string, unknown>][] = [];
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (part) => {
      text += part;
    });
    request.on('end', () => {
      const action = String(request.headers['x-amz-target']).replace('AmazonSQS.', '');
      const input = JSON.parse(text);
      calls.push([action, input]);
      const { status = 200, body } = script[action]?.(calls.filter(([name]) => name === action).length, input) ?? {
        status: 400,
        body: { __type: 'com.amazonaws.sqs#UnsupportedOperation', message: `unexpected ${action}` },
      };
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = new SQSClient({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    useQueueUrlAsEndpoint: false,
    maxAttempts: 1,
  });
  return { client, calls };
}

const ARN = 'arn:aws:sqs:us-east-1:000000000000:dlq';
const URL = 'https://sqs.us-east-1.amazonaws.com/000000000000/dlq';
const attributes = () => ({ body: { Attributes: { QueueArn: ARN } } });
const task = (Status: string, moved: number, more: object = {}) => ({
  body: {
    Results: [
      {
        Status,
        ApproximateNumberOfMessagesMoved: moved,
        ApproximateNumberOfMessagesToMove: 40,
        StartedTimestamp: 2,
        ...more,
      },
    ],
  },
});
const earlier = task('COMPLETED', 99, { StartedTimestamp: 1 });
const none = { body: { Results: [] } };
const start = () => ({ body: { TaskHandle: 'handle' } });
const pause = async () => {};

describe('a redrive by SQS’s message move task', () => {
  it('starts the task at the given rate and follows it to its end', async () => {
    const { client, calls } = await sqs({
      GetQueueAttributes: attributes,
      StartMessageMoveTask: start,
      ListMessageMoveTasks: (call) =>
        [earlier, earlier, task('RUNNING', 10), task('RUNNING', 30), task('COMPLETED', 40)][call - 1] ?? none,
    });
    const progress: RedriveProgress[] = [];
    const result = await redriveByTask(client, URL, {
      rate: 25,
      pause,
      onProgress: (step) => void progress.push(step),
    });
    expect(result).toEqual({ moved: 40, unreadable: 0, held: 0 });
    expect(progress.map(({ moved, total }) => [moved, total])).toEqual([
      [10, 40],
      [30, 40],
      [40, 40],
    ]);
    // Without a destination each message goes back to the queue that it came from.
    expect(calls.find(([action]) => action === 'StartMessageMoveTask')?.[1]).toEqual({
      SourceArn: ARN,
      MaxNumberOfMessagesPerSecond: 25,
    });
  });

  it('starts no task while another is running, and says how far that one is', async () => {
    const { client, calls } = await sqs({
      GetQueueAttributes: attributes,
      ListMessageMoveTasks: () => task('RUNNING', 7, { TaskHandle: 'handle-1' }),
    });
    const redrive = redriveByTask(client, URL, { pause });
    await expect(redrive).rejects.toThrow(RedriveRunningError);
    await expect(redrive).rejects.toThrow(
      'A redrive of dlq is already running (7 of 40 moved): wait for its end, or stop it with ' +
        '`aws sqs cancel-message-move-task --task-handle handle-1`, then redrive again.',
    );
    expect(calls.map(([action]) => action)).not.toContain('StartMessageMoveTask');
  });

  it('says the same if another task was started at the same moment', async () => {
    const { client } = await sqs({
      GetQueueAttributes: attributes,
      ListMessageMoveTasks: (call) => (call === 1 ? none : task('RUNNING', 7, { TaskHandle: 'handle-1' })),
      StartMessageMoveTask: () => ({
        status: 400,
        body: {
          __type: 'com.amazonaws.sqs#UnsupportedOperation',
          message:
            'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
        },
      }),
    });
    await expect(redriveByTask(client, URL, { pause })).rejects.toThrow('running (7 of 40 moved)');
  });

  it.each([
    ['FAILED', 'The redrive failed after 3 messages: CouldNotDetermineMessageSource; the rest is still in dlq'],
    [
      'CANCELLED',
      'The redrive was cancelled after 3 messages: CouldNotDetermineMessageSource; the rest is still in dlq',
    ],
  ])('that is %s says what was moved and what to do', async (status, sentence) => {
    const { client } = await sqs({
      GetQueueAttributes: attributes,
      StartMessageMoveTask: start,
      ListMessageMoveTasks: (call) =>
        call === 1 ? none : task(status, 3, { FailureReason: 'CouldNotDetermineMessageSource' }),
    });
    await expect(redriveByTask(client, URL, { pause })).rejects.toThrow(sentence);
  });
});
