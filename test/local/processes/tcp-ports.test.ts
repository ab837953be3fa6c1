import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { choosePorts } from '../../../src/local/processes/tcp-ports.ts';

const directory = mkdtempSync(join(tmpdir(), 'ports-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it('chooses the ports of the last run again, except one that is in use now', async () => {
  const first = await choosePorts(directory);
  expect(await choosePorts(directory)).toEqual(first);
  const other = createServer();
  await new Promise<void>((listening) => other.listen(first.api, '127.0.0.1', listening));
  const { api, ...rest } = await choosePorts(directory);
  other.close();
  expect(api).not.toBe(first.api);
  expect({ ...rest, api: first.api }).toEqual(first);
});

it('chooses no port that an outgoing connection may get while the runtime is down', async () => {
  const ports = Object.values(await choosePorts(mkdtempSync(join(directory, 'new-'))));
  expect(new Set(ports).size).toBe(ports.length);
  // The first port for outgoing connections on Linux. Other systems start higher.
  expect(Math.max(...ports)).toBeLessThan(32_768);
});
