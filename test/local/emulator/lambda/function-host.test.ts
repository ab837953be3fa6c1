import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FunctionHost } from '../../../../src/local/emulator/lambda/function-host.ts';
import { pidExists } from '../../../../src/processes/process-identity.ts';
import { eventually, scratch, writeBundle } from '../../../support/local/tiny-app.ts';

describe('a function in processes of its own', () => {
  let directory: ReturnType<typeof scratch>;
  const hosts: FunctionHost[] = [];
  beforeEach(() => {
    directory = scratch();
  });
  afterEach(() => {
    for (const host of hosts.splice(0)) host.close();
    directory.remove();
  });

  const host = (body: string, { timeoutSeconds = 10, limit = 4 } = {}) => {
    const asset = writeBundle(directory.path, 'f', body);
    const plan = {
      name: 'f',
      codeDirectory: join(directory.path, asset),
      handler: 'index.handler',
      timeoutSeconds,
      memoryMegabytes: 128,
      environment: {},
    };
    const environment = { PATH: process.env['PATH'] ?? '', AWS_LAMBDA_FUNCTION_NAME: 'f', AWS_REGION: 'us-east-1' };
    const created = new FunctionHost(plan, environment, log(), () => {}, limit);
    hosts.push(created);
    return created;
  };
  const log = () => join(directory.path, 'f.log');

  it('gives the result as JSON, and null for none', async () => {
    const f = host(
      'export const handler = async (event) => event.n === undefined ? undefined : { doubled: event.n * 2 };',
    );
    expect(await f.invoke('{"n":21}')).toEqual({ ok: true, result: '{"doubled":42}' });
    expect(await f.invoke('{}')).toEqual({ ok: true, result: 'null' });
  });

  it('passes the context and its own environment, and nothing of ours', async () => {
    const f = host(`export const handler = async (_, context) => ({
      name: context.functionName, id: context.awsRequestId.length, left: context.getRemainingTimeInMillis(),
      region: process.env.AWS_REGION, vitest: process.env.VITEST ?? null,
    });`);
    const answer = await f.invoke('{}');
    const result = answer.ok ? JSON.parse(answer.result) : undefined;
    expect(result).toMatchObject({ name: 'f', id: 36, region: 'us-east-1', vitest: null });
    expect(result.left).toBeGreaterThan(1_000);
    expect(result.left).toBeLessThanOrEqual(10_000);
  });

  it('reports an error as a failed invocation, as Lambda does', async () => {
    const f = host('export const handler = async () => { throw new TypeError("no"); };');
    expect(await f.invoke('{}')).toMatchObject({ ok: false, error: { errorType: 'TypeError', errorMessage: 'no' } });
  });

  it('finds no package that lies nearby: there is none on Lambda', async () => {
    const near = join(directory.path, 'node_modules', 'near');
    mkdirSync(near, { recursive: true });
    writeFileSync(join(near, 'index.js'), '');
    const f = host('export const handler = async ({ name }) => Object.keys(await import(name)).length > 0;');
    expect(await f.invoke('{"name":"node:path"}')).toEqual({ ok: true, result: 'true' });
    const errorMessage = 'The code of the function lacks near, and Lambda would not find it either.';
    expect(await f.invoke('{"name":"near"}')).toMatchObject({ ok: false, error: { errorMessage } });
  });

  it('keeps a process warm: the next invocation finds the state of the last one', async () => {
    const f = host('let calls = 0; export const handler = async () => ({ calls: ++calls, pid: process.pid });');
    const first = await f.invoke('{}');
    const second = await f.invoke('{}');
    expect(first.ok && JSON.parse(first.result)).toMatchObject({ calls: 1 });
    expect(second.ok && JSON.parse(second.result)).toMatchObject({ calls: 2 });
  });

  it('kills a process that exceeds its time limit, even in an endless loop, and goes on with a new one', async () => {
    const f = host(
      'let calls = 0; export const handler = async (event) => { calls++; while (event.loop); return { calls }; };',
      { timeoutSeconds: 1 },
    );
    expect(await f.invoke('{"loop":true}')).toMatchObject({
      ok: false,
      error: { errorMessage: expect.stringContaining('timed out after 1.00 seconds') },
    });
    expect(await f.invoke('{}')).toEqual({ ok: true, result: '{"calls":1}' });
  });

  it('reports a process that dies as a failed invocation, and goes on with a new one', async () => {
    const f = host('export const handler = async (event) => { if (event.die) process.exit(7); return 1; };');
    expect(await f.invoke('{"die":true}')).toMatchObject({
      ok: false,
      error: { errorType: 'Runtime.ExitError', errorMessage: expect.stringContaining('exit code 7') },
    });
    expect(await f.invoke('{}')).toEqual({ ok: true, result: '1' });
  });

  it('reports a bundle that cannot be loaded, with the reason', async () => {
    const f = host('export const other = 1;');
    expect(await f.invoke('{}')).toMatchObject({
      ok: false,
      error: {
        errorType: 'Runtime.ImportModuleError',
        errorMessage: expect.stringContaining('exports no function handler'),
      },
    });
  });

  it('runs at most its limit of invocations at once; the others wait', async () => {
    const f = host(
      'export const handler = async () => { const from = Date.now(); await new Promise((r) => setTimeout(r, 150)); return { from, to: Date.now() }; };',
      { limit: 2 },
    );
    const results = await Promise.all(Array.from({ length: 5 }, () => f.invoke('{}')));
    const spans = results.map((result) => (result.ok ? JSON.parse(result.result) : undefined));
    const atOnce = spans.map(({ from }) => spans.filter((span) => span.from <= from && span.to > from).length);
    expect(Math.max(...atOnce)).toBe(2);
  });

  it('writes the function’s output to its log', async () => {
    const f = host(
      'export const handler = async () => { console.log(JSON.stringify({ level: "INFO", at: "work" })); };',
    );
    await f.invoke('{}');
    const text = await eventually(() => readFileSync(log(), 'utf8') || undefined);
    expect(JSON.parse(text)).toEqual({ level: 'INFO', at: 'work' });
  });

  it('leaves no process behind when it is closed', async () => {
    const f = host('export const handler = async (event) => { while (event.loop); };', { timeoutSeconds: 60 });
    const endless = f.invoke('{"loop":true}');
    await eventually(() => f.pids[0]);
    const [pid = 0] = f.pids;
    f.close();
    expect(await endless).toMatchObject({ ok: false });
    await eventually(() => (pidExists(pid) ? undefined : true));
  });
});
