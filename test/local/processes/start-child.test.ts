import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startChild } from '../../../src/local/processes/start-child.ts';
import { unusedPort } from '../../../src/local/processes/tcp-ports.ts';
import { pidExists } from '../../../src/processes/process-identity.ts';
import { eventually } from '../../support/local/tiny-app.ts';

const directory = mkdtempSync(join(tmpdir(), 'start-child-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it('leaves no program behind that did not answer in time', async () => {
  const pidFile = join(directory, 'pid');
  const program = `require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); setInterval(() => {}, 1000)`;
  const started = startChild({
    name: 'the DynamoDB stand-in',
    entry: new URL('../../../src/local/stand-ins/dynamodb-process.ts', import.meta.url),
    args: [String(await unusedPort()), process.execPath, '-e', program],
    logFile: join(directory, 'log'),
    startTimeoutMs: 5_000,
  });
  await expect(started).rejects.toThrow(/^the DynamoDB stand-in did not start: no answer within 5 s\. Its log is /);
  expect(existsSync(pidFile)).toBe(true);
  await eventually(() => (pidExists(Number(readFileSync(pidFile, 'utf8'))) ? undefined : true));
});
