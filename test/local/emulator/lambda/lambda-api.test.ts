import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { afterEach, describe, expect, it } from 'vitest';
import { bind, type HttpServer } from '../../../../src/http/loopback-server.ts';
import type { InvocationResult } from '../../../../src/local/emulator/lambda/invocation.ts';
import { createLambdaApi } from '../../../../src/local/emulator/lambda/lambda-api.ts';
import { eventually } from '../../../support/local/tiny-app.ts';

describe("Lambda's Invoke API", () => {
  const servers: HttpServer[] = [];
  afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

  async function start(run: (event: string) => Promise<InvocationResult>) {
    const api = await bind(0, 'the API');
    const handle = createLambdaApi({
      invoke: (name, event) => (name === 'f' ? run(event) : undefined),
      caughtUp: async () => true,
      log: () => {},
      retryDelaysMs: [5, 5],
      signal: api.closing,
    });
    api.serve(handle);
    servers.push(api);
    const client = new LambdaClient({
      endpoint: api.url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      maxAttempts: 1,
    });
    return { api, client };
  }
  const echo = async (event: string): Promise<InvocationResult> => ({ ok: true, result: event });

  it.each(['f', 'arn:aws:lambda:us-east-1:000000000000:function:f'])('gives the result of %s', async (FunctionName) => {
    const { client } = await start(echo);
    const answer = await client.send(new InvokeCommand({ FunctionName, Payload: '{"text":"日本語"}' }));
    expect(answer.StatusCode).toBe(200);
    expect(answer.FunctionError).toBeUndefined();
    expect(answer.Payload?.transformToString()).toBe('{"text":"日本語"}');
  });

  it('gives a failed invocation as FunctionError with its payload', async () => {
    const { client } = await start(async () => ({ ok: false, error: { errorType: 'E', errorMessage: 'no' } }));
    const answer = await client.send(new InvokeCommand({ FunctionName: 'f' }));
    expect(answer.FunctionError).toBe('Unhandled');
    expect(JSON.parse(answer.Payload?.transformToString() ?? '')).toEqual({ errorType: 'E', errorMessage: 'no' });
  });

  it('does not wait for an asynchronous invocation, and retries it twice when it fails', async () => {
    const events: string[] = [];
    const { client } = await start(async (event) => {
      events.push(event);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { ok: false, error: { errorType: 'E', errorMessage: 'no' } };
    });
    const answer = await client.send(
      new InvokeCommand({ FunctionName: 'f', InvocationType: 'Event', Payload: '{"n":1}' }),
    );
    expect(answer.StatusCode).toBe(202);
    await eventually(() => (events.length === 3 ? true : undefined));
    expect(events).toEqual(Array.from({ length: 3 }, () => '{"n":1}'));
  });

  it('names a function that does not exist, a payload that is not JSON, and a service without a stand-in', async () => {
    const { api, client } = await start(echo);
    await expect(client.send(new InvokeCommand({ FunctionName: 'g' }))).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
      message: 'Function not found: g',
    });
    await expect(client.send(new InvokeCommand({ FunctionName: 'f', Payload: '{' }))).rejects.toThrow(/not JSON/);
    const other = await fetch(api.url, {
      method: 'POST',
      headers: { 'x-amz-target': 'TrentService.Decrypt' },
      body: '{}',
    });
    expect(other.status).toBe(501);
    expect(await other.json()).toMatchObject({ Message: expect.stringContaining('TrentService.Decrypt') });
  });

  it('says when rows that were put before have been handled', async () => {
    const { api } = await start(echo);
    expect(await (await fetch(`${api.url}/_caught_up`)).json()).toEqual({ caught_up: true });
  });

  it('says which port is taken and what to do', async () => {
    const { api } = await start(echo);
    const port = Number(new URL(api.url).port);
    await expect(bind(port, 'the API')).rejects.toThrow(
      `Port ${port} for the API is taken: stop what listens there or choose another port with --port`,
    );
  });
});
