import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ApiStandIn, problem } from '../support/client/api-stand-in.ts';
import { buildProducer } from '../support/client/survive.ts';

/** Loaded before the example: no file of the spool finds room. */
const FULL_DISK = `
  import fs from 'node:fs/promises';
  import { syncBuiltinESMExports } from 'node:module';
  const { open } = fs;
  fs.open = async (path, ...rest) => {
    if (String(path).includes('.draft-')) throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
    return open(path, ...rest);
  };
  syncBuiltinESMExports();`;

let directory: string;
const api = new ApiStandIn();
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'example-'));
  await Promise.all([buildProducer(directory), api.start()]);
});
afterAll(async () => {
  await api.stop();
  rmSync(directory, { recursive: true, force: true });
});

it('the example tells in one line that neither API nor disk took a notification, and shows nothing of it', async () => {
  api.instead = () => problem('unauthenticated', 401);
  writeFileSync(join(directory, 'full-disk.mjs'), FULL_DISK);
  writeFileSync(join(directory, 'message.json'), '{"channel":"email","body":"Text 1"}');
  writeFileSync(join(directory, 'recipients.jsonl'), '{"id":"1","recipient":"someone-1@example.com"}');
  const files = ['--run', 'r', '--recipients', 'recipients.jsonl', '--message', 'message.json'];
  const child = spawn(process.execPath, ['--import', './full-disk.mjs', 'producer.mjs', ...files], {
    cwd: directory,
    env: { ...process.env, NOTIFICATION_API_URL: api.url, NOTIFICATION_API_KEY: 'nrk_wrong' },
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  expect({ out, err, code }).toEqual({
    out: '',
    err: expect.stringMatching(/^1 notifications could neither be handed over .*the disk is full.*\n$/),
    code: 1,
  });
});
