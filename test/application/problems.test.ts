import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { problemBody } from '../../src/application/console.ts';
import { quoted, shellCommand } from '../../src/application/contract/choices.ts';
import { CONSOLE_ROUTES } from '../../src/application/routes.ts';
import { Problem } from '../../src/core/model/problem.ts';
import { type Operations, startOperations } from '../support/cli/operations.ts';

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
}, 60_000);
afterAll(() => ops?.stop());

const PATH = { log_id: 'NL1', operation_id: 'OP1', email_id: 'EM1', key_id: 'K1' };

it.each([...CONSOLE_ROUTES.map(({ key }) => key), ''])(
  'a refusal of the console of "%s" says the remedy and a command that the shell knows',
  async (key) => {
    const { remedy, command = '' } = problemBody(
      new Problem('conflict', 'It has changed.'),
      true,
      CONSOLE_ROUTES.find((route) => route.key === key),
      PATH,
    );
    expect(remedy).not.toBe('');
    expect(command).toMatch(/^npm run ops -- .* --local$/);
    const words = command.replace('npm run ops -- ', '').split(' ');
    const [first = '', second = ''] = words;
    const help = await ops.run([
      first,
      ...(['dlq', 'emails', 'keys', 'members', 'newsletters'].includes(first) ? [second] : []),
      '--help',
    ]);
    expect(help.code).toBe(0);
    for (const flag of words.filter((word) => word.startsWith('--'))) expect(help.out).toContain(flag);
  },
);

describe('a line for the shell', () => {
  const HOSTILE = [
    'NL1',
    "it's",
    '$(reboot)',
    '`reboot`; $HOME',
    'a\nreboot',
    'a\u0003\rreboot',
    "\u001b[201~\\'x",
    'a\u202eb',
    'a\u{e0001}b',
    '--all',
    '通知',
  ];

  it('is one word per id for bash, and holds nothing that a terminal obeys or hides', () => {
    const words = HOSTILE.map(quoted).join(' ');
    expect(words).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    const read = execFileSync('bash', ['-c', `printf '%s\\0' ${words}`], {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    });
    expect(read.split('\0').slice(0, -1)).toEqual(HOSTILE);
  });

  it('takes no id for an option', async () => {
    expect(shellCommand('show', true, [], ['NL1'])).toBe('npm run ops -- show NL1 --local');
    const line = shellCommand('dlq drop', true, ['--yes'], ['--all', 'NL1']);
    expect(line).toBe('npm run ops -- dlq drop --yes --local -- --all NL1');
    const args = line.replace('npm run ops -- ', '').split(' ');
    const { code, err } = await ops.run(args);
    expect([code, err]).toEqual([1, expect.stringContaining('There is no notification --all')]);
  });
});
