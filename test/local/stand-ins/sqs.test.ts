import { mkdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AwsClients, awsClients } from '../../../src/local/emulator/aws-clients.ts';
import { type StandIn, startSqs } from '../../../src/local/stand-ins/stand-ins.ts';
import { createQueues, queueUrl } from '../../../src/local/stand-ins/tables-and-queues.ts';
import { scratch } from '../../support/local/tiny-app.ts';

describe('the SQS stand-in with a data directory', () => {
  let directory: ReturnType<typeof scratch>;
  let sqs: StandIn;
  let clients: AwsClients;

  const start = async () => {
    mkdirSync(join(directory.path, 'data'), { recursive: true });
    sqs = await startSqs(join(directory.path, 'data'), join(directory.path, 'sqs.log'));
    clients = awsClients('http://127.0.0.1:9', sqs.endpoint);
  };
  const stop = async () => {
    clients.destroy();
    await sqs.child.stop();
  };
  beforeEach(async () => {
    directory = scratch();
    await start();
    await createQueues(clients.sqs, sqs.endpoint, [
      { name: 'dead', attributes: {} },
      { name: 'lane', attributes: { RedrivePolicy: redrive(3) } },
    ]);
  });
  afterEach(async () => {
    await stop();
    directory.remove();
  });

  const receive = async (name: string, VisibilityTimeout = 30) => {
    const { Messages = [] } = await clients.sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl(sqs.endpoint, name),
        MaxNumberOfMessages: 10,
        MessageSystemAttributeNames: ['ApproximateReceiveCount'],
        VisibilityTimeout,
      }),
    );
    return Messages.map(({ Body, Attributes, ReceiptHandle }) => ({
      body: Body,
      count: Attributes?.['ApproximateReceiveCount'],
      handle: ReceiptHandle,
    }));
  };
  const send = (MessageBody: string) =>
    clients.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(sqs.endpoint, 'lane'), MessageBody }));
  const giveBack = (ReceiptHandle: string | undefined) =>
    clients.sqs.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl: queueUrl(sqs.endpoint, 'lane'),
        Entries: [{ Id: '0', ReceiptHandle, VisibilityTimeout: 0 }],
      }),
    );

  it('takes a message back at once, and moves it to the dead-letter queue after maxReceiveCount', async () => {
    await send('poison');
    for (const count of ['1', '2', '3']) {
      const [message] = await receive('lane');
      expect(message).toMatchObject({ body: 'poison', count });
      expect((await giveBack(message?.handle)).Failed ?? []).toEqual([]);
    }
    expect(await receive('lane')).toEqual([]);
    expect(await receive('dead')).toMatchObject([{ body: 'poison' }]);
  });

  it('keeps queues, messages and receive counts when it is killed and started again', async () => {
    await send('waiting');
    await send('in flight');
    const [first] = await receive('lane', 0);
    expect(first).toMatchObject({ body: 'waiting', count: '1' });
    process.kill(sqs.child.pid, 'SIGKILL');
    await sqs.child.exited;
    clients.destroy();
    await start();
    const received = await receive('lane', 1);
    const counts = Object.fromEntries(received.map(({ body, count }) => [body, count]));
    expect(counts).toEqual({ waiting: '2', 'in flight': '2' });
  });

  it('gives an existing queue the attributes of a changed template, and keeps its messages', async () => {
    await send('kept');
    await createQueues(clients.sqs, sqs.endpoint, [
      { name: 'dead', attributes: {} },
      { name: 'lane', attributes: { RedrivePolicy: redrive(1) } },
    ]);
    expect(await receive('lane', 0)).toMatchObject([{ body: 'kept' }]);
    await receive('lane', 0);
    expect(await receive('dead')).toMatchObject([{ body: 'kept' }]);
  });

  it('receives the messages of others before those of a group that has thirty in flight, as fair queues do', async () => {
    const lane = queueUrl(sqs.endpoint, 'lane');
    const entry = (MessageBody: string, MessageGroupId: string) => ({ Id: MessageBody, MessageBody, MessageGroupId });
    const flood = Array.from({ length: 50 }, (_, i) => entry(`flood-${i}`, 'B'));
    const sent = [...flood, ...['own-0', 'own-1'].map((body) => entry(body, 'A'))];
    for (let i = 0; i < sent.length; i += 10) {
      await clients.sqs.send(new SendMessageBatchCommand({ QueueUrl: lane, Entries: sent.slice(i, i + 10) }));
    }
    const bodies = async () => (await receive('lane')).map(({ body }) => body);
    const inOrder = (from: number, count: number) => Array.from({ length: count }, (_, i) => `flood-${from + i}`);
    for (const from of [0, 10, 20]) expect(await bodies()).toEqual(inOrder(from, 10));
    expect(await bodies()).toEqual(['own-0', 'own-1', ...inOrder(30, 8)]);
    // Groups are kept with the messages.
    await clients.sqs.send(new SendMessageCommand({ QueueUrl: lane, MessageBody: 'own-2', MessageGroupId: 'A' }));
    await stop();
    await start();
    expect(await bodies()).toEqual(['own-2', ...inOrder(38, 9)]);
  });

  it('receives the messages of others before those of a group that took the consumers most of their time', async () => {
    const lane = queueUrl(sqs.endpoint, 'lane');
    const give = (MessageBody: string, MessageGroupId: string) =>
      clients.sqs.send(new SendMessageCommand({ QueueUrl: lane, MessageBody, MessageGroupId }));
    const take = async () => {
      const { Messages = [] } = await clients.sqs.send(new ReceiveMessageCommand({ QueueUrl: lane }));
      return Messages[0];
    };
    await give('slow-0', 'B');
    const { ReceiptHandle } = (await take()) ?? {};
    await clients.sqs.send(new DeleteMessageCommand({ QueueUrl: lane, ReceiptHandle }));
    await give('slow-1', 'B');
    await give('own-0', 'A');
    expect((await take())?.Body).toBe('own-0');
    expect((await take())?.Body).toBe('slow-1');
  });

  it('is reached from this machine only', () => expect(new URL(sqs.endpoint).hostname).toBe('127.0.0.1'));
});

function redrive(maxReceiveCount: number): string {
  return JSON.stringify({ deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:dead', maxReceiveCount });
}

it('starts at another port if somebody took its own meanwhile', async () => {
  const directory = scratch();
  const other = createServer();
  await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening));
  const { port } = other.address() as AddressInfo;
  const sqs = await startSqs(undefined, join(directory.path, 'sqs.log'), port);
  expect(sqs.endpoint).not.toContain(String(port));
  await sqs.child.stop();
  other.close();
  directory.remove();
});
