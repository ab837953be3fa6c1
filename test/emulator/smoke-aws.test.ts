import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROW_CHECKS } from '../../tools/smoke/checks.ts';
import { INTERFACE_CHECKS } from '../../tools/smoke/interfaces.ts';
import { synthesizeForEmulator } from '../support/emulator/assembly.ts';
import { MINUTES } from '../support/emulator/deploy.ts';
import { stackOn } from '../support/emulator/deployed-stack.ts';
import { ACCOUNT, type Ministack, startMinistack } from '../support/emulator/ministack.ts';
import { outputOf } from '../support/emulator/run-command.ts';

const SENDER = 'noreply@example.com';

/** Opt-in by `npm run test:emulator`: the smoke test must not rot between two runs on AWS. */
describe('the smoke test on another AWS emulator', { timeout: 20 * MINUTES }, () => {
  let emulator: Ministack;
  beforeAll(async () => {
    emulator = await startMinistack({ enforceIam: false });
  }, 2 * MINUTES);
  afterAll(() => emulator?.stop(), MINUTES);

  it('takes a stage through its first hour, but for what the emulator lacks', async () => {
    const app = [
      '--app',
      'node --import tsx tools/smoke/smoke-app.ts',
      '-c',
      `sender=${SENDER}`,
      '-c',
      `account=${ACCOUNT}`,
    ];
    const assembly = await synthesizeForEmulator({}, 'https://issuer.your-domain.example', app);
    const stack = stackOn(emulator);
    await stack.prepare(assembly);
    await stack.aws(['sesv2', 'create-email-identity', '--email-identity', 'example.com']);
    const args = ['--account', ACCOUNT, '--sender', SENDER, '--yes', '--emulator', assembly];
    const said = await outputOf('npm', ['run', '--silent', 'smoke:aws', '--', ...args], emulator.environment());
    const here = [...ROW_CHECKS, ...INTERFACE_CHECKS].filter(({ only_aws }) => only_aws === undefined);
    const steps = [...here.map(({ name }) => name), 'second deployment', 'destruction', 'redeployment'];
    expect(said.match(/^✓ .*$/gm)).toEqual(steps.map((name) => `✓ ${name}`));
    expect(said).toMatch(/cost at most \$0\.\d\d\./);
  });
});
