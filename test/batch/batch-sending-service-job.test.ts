import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/project-root.ts';

const run = async (...args: string[]) => {
  const command = ['--import', 'tsx', 'src/batch/batch-sending-service-job.ts', ...args];
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { cwd: PROJECT_ROOT });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
};

// What it does for an email is held by test/cli/commands/emails/emails.test.ts.
describe('the command batch-sending-service-job', () => {
  it.each([
    ['no email', [], '--email-id'],
    ['an unknown flag', ['--email-id=e', '--force'], '--force'],
    ['a bad id', ['--email-id=a b'], '--email-id'],
    ['a value for a switch', ['--email-id=e', '--wait=yes'], '--wait'],
  ])(
    'refuses %s with exit code 2 and the usage',
    async (_, args, named) => {
      const { code, stderr } = await run(...args);
      expect(code).toBe(2);
      expect(stderr).toContain(named);
      expect(stderr).toContain('Usage:');
    },
    30_000,
  );

  it('prints its usage', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('--wait') });
  }, 30_000);
});
