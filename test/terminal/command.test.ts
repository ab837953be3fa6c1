import { Command } from 'commander';
import { expect, it } from 'vitest';
import { describeCommand, runCommand, writingTo } from '../../src/terminal/command.ts';
import { recordingTerminal } from '../support/cli/recording-terminal.ts';

it('the help of a command fills paragraphs, gives each word its own line, and leaves examples as they are', async () => {
  const { terminal, written } = recordingTerminal({});
  const help = `
State:
due      ${'to be retried now, '.repeat(5)}or soon
waiting  to be retried later

${'All that is unfinished. '.repeat(2)}
It is read once.

Example:
  ops   status`;
  const code = await runCommand(['status', '--help'], terminal, () => {
    const program = writingTo(terminal, new Command('ops'));
    describeCommand(program, { name: 'status', says: 'count', help }, {}).action(() => {});
    return program;
  });
  expect(code).toBe(0);
  expect(written.out.split('\n').slice(7)).toEqual([
    'State:',
    '  due      to be retried now, to be retried now, to be retried now, to be',
    '           retried now, to be retried now, or soon',
    '  waiting  to be retried later',
    '',
    'All that is unfinished. All that is unfinished.  It is read once.',
    '',
    'Example:',
    '  ops   status',
    '',
  ]);
});
