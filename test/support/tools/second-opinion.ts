import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../project-root.ts';
import { PYTHON_COMMANDS } from './tools.ts';

export const PYTHON = join(PYTHON_COMMANDS, 'python');

interface Asked {
  readonly mails: string;
  readonly senders: string;
  readonly addresses: string;
  readonly moments: { readonly text: string; readonly zone: string };
  readonly texts: string;
}

/** What Python's libraries read there, one answer for each, in order. */
export function askPython<Kind extends keyof Asked, Read>(kind: Kind, asked: readonly Asked[Kind][]): readonly Read[] {
  const { stdout, stderr, status } = spawnSync(PYTHON, [join(PROJECT_ROOT, 'test/support/tools/second_opinion.py')], {
    input: JSON.stringify({ [kind]: asked }),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout)[kind];
}
