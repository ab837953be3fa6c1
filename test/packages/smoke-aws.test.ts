import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { pinnedNode } from '../../src/local/processes/start-child.ts';
import { ROW_CHECKS } from '../../tools/smoke/checks.ts';
import { INTERFACE_CHECKS } from '../../tools/smoke/interfaces.ts';
import { billOf } from '../../tools/smoke/stack.ts';
import { replying, startLoopback } from '../support/loopback.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

const TARGET = ['--account', '123456789012', '--sender', 'noreply@your-domain.example'];

/** Without credentials and without AWS: whatever asked for either would fail. */
const smoke = (...args: string[]) => smokeOn({ AWS_ENDPOINT_URL: 'http://127.0.0.1:9' }, ...args);

function smokeOn(account: Readonly<Record<string, string>>, ...args: string[]) {
  const env = { PATH: process.env['PATH'] ?? '', AWS_REGION: 'us-east-1', ...account };
  const command = ['--import', 'tsx', join('tools', 'smoke', 'smoke-aws.ts'), ...args];
  return promisify(execFile)(pinnedNode(), command, { cwd: PROJECT_ROOT, env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

describe('the smoke test on AWS', { timeout: 300_000 }, () => {
  it('prints its plan and its cost, and does nothing, with --dry-run', async () => {
    const { code, stdout } = await smoke('--dry-run', ...TARGET);
    expect(code).toBe(0);
    expect(stdout).toContain('notification-retry-smoke to account 123456789012');
    for (const { name } of [...ROW_CHECKS, ...INTERFACE_CHECKS]) expect(stdout).toContain(`  ${name}: `);
    expect(stdout).toMatch(/at most \$0\.\d\d when the stack exists for 1 hour/);
  });

  it('begins nothing unless somebody says so', async () => {
    const { code, stderr } = await smoke(...TARGET);
    expect(code).toBe(1);
    expect(stderr).toContain('Nothing was done');
  });

  it('says in a sentence that the account is not bootstrapped, and changes nothing', async () => {
    const cloudFormation = await startLoopback();
    const said = '<Code>ValidationError</Code><Message>Stack with id CDKToolkit does not exist</Message>';
    cloudFormation.answer = replying(400, `<ErrorResponse><Error>${said}</Error></ErrorResponse>`);
    const account = { AWS_ENDPOINT_URL: cloudFormation.url, AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };
    const { code, stderr } = await smokeOn(account, ...TARGET, '--yes');
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('has no stack CDKToolkit') });
    expect(cloudFormation.received).toHaveLength(1);
    await cloudFormation.close();
  });

  it('has to be told account and sender', async () => {
    const { code, stderr } = await smoke('--dry-run', '--account', '123456789012');
    expect(code).toBe(2);
    expect(stderr).toContain('--sender');
  });

  it('counts what costs by the hour, by the prices of all figures, and what a run uses', () => {
    const { lines, usd } = billOf(730);
    expect(lines).toContainEqual({ what: 'KMS keys', count: 3, usd: 3 });
    expect(lines.find(({ what }) => what === 'metrics of alarms')?.usd).toBeGreaterThan(5);
    expect(usd).toBeGreaterThan(20);
    expect(billOf(1).usd).toBeLessThan(0.5);
  });
});
