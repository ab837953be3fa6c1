import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { awsClients } from '../../../src/local/emulator/aws-clients.ts';
import type { Endpoints } from '../../../src/local/runtime/endpoints-file.ts';
import { type LocalRuntime, startLocalRuntime } from '../../../src/local/runtime/runtime.ts';
import { eventually, scratch } from '../../support/local/tiny-app.ts';
import { writeTinyStack } from '../../support/local/tiny-stack.ts';

describe('the local runtime', () => {
  let directory: ReturnType<typeof scratch>;
  let runtimes: LocalRuntime[] = [];
  let processes: ChildProcess[] = [];
  const inside = (name: string) => join(directory.path, name);

  beforeEach(() => {
    directory = scratch();
    writeTinyStack(directory.path, inside('results.txt'));
  });
  afterEach(async () => {
    await Promise.all(runtimes.map((runtime) => runtime.stop()));
    for (const one of processes) one.kill('SIGKILL');
    runtimes = [];
    processes = [];
    await new Promise((resolve) => setTimeout(resolve, 200));
    directory.remove();
  });

  async function start(options: Partial<Parameters<typeof startLocalRuntime>[0]> = {}): Promise<LocalRuntime> {
    const runtime = await startLocalRuntime({
      assemblyDir: directory.path,
      workDir: inside('work'),
      console: false,
      ...options,
    });
    runtimes.push(runtime);
    return runtime;
  }

  /** A runtime in another process. */
  async function launch(): Promise<ChildProcess> {
    const args = [directory.path, inside('work'), inside('data')];
    const child = fork(new URL('../../support/local/run-runtime.ts', import.meta.url), args, {
      execArgv: [],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    processes.push(child);
    await new Promise<void>((resolve, reject) => {
      child.stdout?.once('data', () => resolve());
      child.once('exit', (code) => reject(new Error(`the runtime ended with ${code}`)));
    });
    return child;
  }

  const endpoints = (): Endpoints => JSON.parse(readFileSync(inside('work/endpoints.json'), 'utf8'));
  const results = () =>
    existsSync(inside('results.txt')) ? readFileSync(inside('results.txt'), 'utf8').trim().split('\n') : [];
  const result = (line: string, times = 1) =>
    eventually(() => (results().filter((one) => one === line).length >= times ? true : undefined), 20_000);

  async function act(put: { rows?: string[]; messages?: string[] }): Promise<void> {
    const { endpoints: at, tables, queues } = endpoints();
    const clients = awsClients(at.dynamodb, at.sqs);
    for (const id of put.rows ?? []) {
      await clients.dynamodb.send(
        new PutItemCommand({ TableName: tables.notification_log, Item: { log_id: { S: id } } }),
      );
    }
    for (const MessageBody of put.messages ?? []) {
      await clients.sqs.send(new SendMessageCommand({ QueueUrl: queues.email.express, MessageBody }));
    }
    clients.destroy();
  }

  it('runs the resources of the template: table, stream, queue, function, API', async () => {
    const runtime = await start();
    expect(endpoints()).toEqual(runtime.endpoints);
    expect(endpoints()).toMatchObject({
      pid: process.pid,
      tables: { notification_log: 'tiny-Log' },
      queues: { email: { express: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/000000000000\/tiny-Lane$/) } },
      functions: { worker: 'tiny-Worker' },
    });
    await act({ rows: ['n1'], messages: ['m1'] });
    await Promise.all([result('row n1'), result('m1')]);
    const { api } = runtime.endpoints.endpoints;
    const answer = await fetch(`${api}/2015-03-31/functions/tiny-Worker/invocations`, {
      method: 'POST',
      body: '{"dry_run":true}',
    });
    expect(answer.status).toBe(200);
    await result('call {"dry_run":true}');
  });

  it('calls a scheduled function only when the rows that were put before are handled', async () => {
    const runtime = await start();
    await act({ rows: Array.from({ length: 30 }, (_, index) => `n${index}`) });
    await runtime.invoke('tiny-Worker', '{}');
    expect(
      results()
        .slice(0, 30)
        .every((line) => line.startsWith('row ')),
    ).toBe(true);
    expect(results()).toHaveLength(31);
  });

  it('replaces base interval and schedule without another synthesis', async () => {
    const runtime = await start({ baseIntervalSeconds: 0.5, schedule: 'rate(1 second)' });
    await eventually(() => results().find((line) => line.includes('"source":"aws.events"')));
    expect(JSON.parse(runtime.endpoints.stack['RetryPolicy'] ?? '')).toEqual({ base_interval_seconds: 0.5 });
    const answer = await runtime.invoke('tiny-Worker', '{}');
    const { policy } = answer?.ok ? JSON.parse(answer.result) : { policy: '{}' };
    expect(JSON.parse(policy)).toEqual({ base_interval_seconds: 0.5, max_retries: {} });
  });

  it('removes its endpoints file and ends its processes when it stops', async () => {
    const runtime = await start();
    const { dynamodb, sqs, ses, api } = runtime.endpoints.endpoints;
    await runtime.stop();
    expect(existsSync(inside('work/endpoints.json'))).toBe(false);
    for (const url of [dynamodb, sqs, ses, api]) await expect(fetch(url)).rejects.toThrow();
  });

  it('refuses to start beside a running one, and leaves that one alone', async () => {
    const first = await launch();
    await expect(start()).rejects.toThrow(`already up in ${inside('work')} (pid ${first.pid})`);
    await expect(start({ workDir: inside('other'), dataDir: inside('data') })).rejects.toThrow(/already up in .*data/);
    await act({ messages: ['still there'] });
    await result('still there');
  });

  it('cleans up after itself when it cannot start', async () => {
    await expect(start({ schedule: 'never' })).rejects.toThrow(/"never" is not one/);
    await expect(start({ assemblyDir: inside('nothing') })).rejects.toThrow(/manifest\.json cannot be read/);
    await start();
  });

  it('loses nothing when it is killed: the next one handles rows, messages and messages in flight', async () => {
    const first = await launch();
    await act({ rows: ['before'], messages: ['hang', 'hang'] });
    // Both of the lane's batches hang now, so later messages stay in the queue.
    await Promise.all([result('row before'), result('hang', 2)]);
    await act({ messages: ['waiting'] });
    const { dynamodb, sqs } = endpoints().endpoints;
    const gone = new Promise((resolve) => first.once('exit', resolve));
    first.kill('SIGKILL');
    await gone;
    await eventually(async () => ((await answers(dynamodb)) || (await answers(sqs)) ? undefined : true));

    await launch();
    await Promise.all([result('waiting'), result('hang', 4)]);
    await act({ rows: ['after'] });
    await result('row after');
    expect(results().filter((line) => line === 'row before')).toHaveLength(1);
  }, 60_000);
});

async function answers(url: string): Promise<boolean> {
  try {
    await fetch(url);
    return true;
  } catch {
    return false;
  }
}
