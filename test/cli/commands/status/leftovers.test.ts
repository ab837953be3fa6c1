import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addLeftovers } from '../../../../src/cli/commands/status/leftovers.ts';
import { runCommand, writingTo } from '../../../../src/terminal/command.ts';
import { recordingTerminal } from '../../../support/cli/recording-terminal.ts';

const LEFT = [{ what: 'The key k1.', remove: 'aws kms schedule-key-deletion --key-id k1' }];

async function leftoversOf(args: readonly string[], left: typeof LEFT, env: Readonly<Record<string, string>> = {}) {
  const { terminal, written } = recordingTerminal({});
  const asked: string[] = [];
  const code = await runCommand(['leftovers', ...args], terminal, (exitWith) => {
    const program = writingTo(terminal, new Command('ops'));
    const context = { terminal, env, clock: () => new Date(), exitWith };
    addLeftovers(program, context as never, async (stack) => {
      asked.push(stack);
      return left;
    });
    return program;
  });
  return { code, asked, out: written.out };
}

describe('ops leftovers', () => {
  it('lists what the named stack has left, and how to remove it', async () => {
    const env = { NOTIFICATION_RETRY_STACK: 'Messaging' };
    const { code, asked, out } = await leftoversOf([], LEFT, env);
    expect({ code, asked }).toEqual({ code: 0, asked: ['Messaging'] });
    expect(out).toMatch(/The key k1\..*aws kms schedule-key-deletion --key-id k1/);
  });

  it('says it as JSON, and that nothing is left', async () => {
    expect(JSON.parse((await leftoversOf(['--json'], LEFT)).out)).toEqual({ leftovers: LEFT });
    expect(await leftoversOf([], [])).toEqual({
      code: 0,
      asked: ['notification-retry-dev'],
      out: 'Nothing is left.\n',
    });
  });
});
