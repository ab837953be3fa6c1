import { EXIT_USAGE, OperatorError } from './errors.ts';
import type { Terminal } from './terminal.ts';

/**
 * Asks the operator before a step that cannot be undone.
 * @param yes the operator has confirmed already, by --yes
 * @throws OperatorError when there is no terminal to ask on
 */
export async function confirm(
  question: string,
  yes: boolean | undefined,
  { terminal }: { readonly terminal: Terminal },
): Promise<boolean> {
  if (yes) return true;
  if (!terminal.interactive) {
    throw new OperatorError('Nothing was done, for there is no terminal to ask on: add --yes to confirm.', EXIT_USAGE);
  }
  const answer = await terminal.ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  terminal.say('Nothing was done.\n');
  return false;
}
