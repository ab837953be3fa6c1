import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellCommands } from '../support/docs/shell-lines.ts';
import { type Loopback, replying, startLoopback } from '../support/loopback.ts';
import { hasTool, PYTHON_COMMANDS } from '../support/tools/tools.ts';

const AWS = join(PYTHON_COMMANDS, 'aws');
/** What version 2 needs to take a payload as it is written. PyPI has version 1, which takes it so, and does not know the option. */
const ONLY_V2 = ['--cli-binary-format', 'raw-in-base64-out'];
const LINES = [...new Map(shellCommands().map(({ where, words }) => [words.join(' '), { where, words }]))].filter(
  ([line]) => line.startsWith('aws '),
);

/**
 * The AWS CLI checks a line against the service's model before it sends a request: options, what is required, the form
 * of each value. What the service then does with it is tried on the emulator and on AWS only.
 */
describe.skipIf(!hasTool('the AWS CLI', AWS))('a suggested line of the AWS CLI is one that it sends:', () => {
  let service: Loopback;
  const directory = mkdtempSync(join(tmpdir(), 'notification-retry-aws-'));
  beforeAll(async () => {
    service = await startLoopback();
    service.answer = replying(400, '{"__type":"Refused"}');
    writeFileSync(join(directory, 'credential.json'), '{}');
  });
  afterAll(() => service?.close());

  const run = (words: readonly string[]) =>
    new Promise<string>((resolve) => {
      const env = {
        PATH: process.env['PATH'] ?? '',
        HOME: directory,
        AWS_DEFAULT_REGION: 'us-east-1',
        AWS_MAX_ATTEMPTS: '1',
        AWS_ACCESS_KEY_ID: 'test',
        AWS_SECRET_ACCESS_KEY: 'test',
        AWS_EC2_METADATA_DISABLED: 'true',
      };
      const args = ['--endpoint-url', service.url, ...words.slice(1).filter((word) => !ONLY_V2.includes(word))];
      execFile(AWS, args, { cwd: directory, env }, (_, __, err) => resolve(err));
    });

  it('finds them', () => expect(LINES.length).toBeGreaterThan(25));

  it.each(LINES)(
    '%s',
    async (_, { where, words }) => {
      const before = service.received.length;
      const said = await run(words);
      expect(service.received.length, `${where}: ${said}`).toBeGreaterThan(before);
    },
    60_000,
  );

  it('and not one with a mistake', async () => {
    const before = service.received.length;
    expect(await run(['aws', 'sqs', 'cancel-message-move-task'])).toContain('--task-handle');
    expect(service.received).toHaveLength(before);
  });
});
