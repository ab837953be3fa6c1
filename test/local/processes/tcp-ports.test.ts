import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import { holdPorts } from '../../../src/local/processes/tcp-ports.ts';
import { Teardown } from '../../../src/local/processes/teardown.ts';

const directory = mkdtempSync(join(tmpdir(), 'ports-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const ended: Teardown[] = [];
afterEach(() => Promise.all(ended.splice(0).map((teardown) => teardown.run())));

/** The ports of a runtime, which holds them until the test ends. */
async function held(home = directory): Promise<Record<string, number>> {
  const teardown = new Teardown();
  ended.push(teardown);
  return Object.fromEntries(Object.entries(await holdPorts(home, teardown)).map(([name, { port }]) => [name, port]));
}
const stop = () => ended.pop()?.run();

it('holds the ports of the last run again, except one that is in use now', async () => {
  const first = await held();
  await stop();
  expect(await held()).toEqual(first);
  await stop();
  const other = createServer();
  await new Promise<void>((listening) => other.listen(first['api'], '127.0.0.1', listening));
  const { api, ...rest } = await held();
  other.close();
  expect(api).not.toBe(first['api']);
  expect({ ...rest, api: first['api'] }).toEqual(first);
});

it('gives no port to two runtimes that start beside each other', async () => {
  const both = [...Object.values(await held()), ...Object.values(await held())];
  expect(new Set(both).size).toBe(both.length);
});

it('frees a port for the service that takes it', async () => {
  const teardown = new Teardown();
  ended.push(teardown);
  const { api } = await holdPorts(directory, teardown);
  const server = createServer();
  const port = await api.take();
  await new Promise<void>((listening, failed) => server.once('error', failed).listen(port, '127.0.0.1', listening));
  server.close();
});

it('chooses no port that an outgoing connection may get while the runtime is down', async () => {
  const ports = Object.values(await held(mkdtempSync(join(directory, 'new-'))));
  expect(new Set(ports).size).toBe(ports.length);
  // The first port for outgoing connections on Linux. Other systems start higher.
  expect(Math.max(...ports)).toBeLessThan(32_768);
});
