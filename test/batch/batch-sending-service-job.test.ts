import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/project-root.ts';

const run = async (...args: string[]) => {
  const command = ['src/batch/batch-sending-service-job.ts', ...args];
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { cwd: PROJECT_ROOT });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
};

// What it does for an email is held by test/cli/commands/emails/emails.test.ts, its arguments by sending-job-options.
describe('the command batch-sending-service-job', () => {
  it('refuses a wrong argument with exit code 2', async () => {
    const { code, stderr } = await run('--email-id=a b');
    expect(code).toBe(2);
    expect(stderr).toContain('--email-id');
  }, 30_000);

  it('prints its usage', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('--wait') });
  }, 30_000);
});
