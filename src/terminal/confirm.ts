import { MISUSED, OperatorError } from './errors.ts';
import type { Terminal } from './terminal.ts';

/**
 * Asks before something is done that cannot be undone.
 * @throws OperatorError when nobody is there to be asked.
 */
export async function confirmed(
  question: string,
  yes: boolean | undefined,
  { terminal }: { readonly terminal: Terminal },
): Promise<boolean> {
  if (yes) return true;
  if (!terminal.interactive) {
    throw new OperatorError('Nothing was done, for there is no terminal to ask on: add --yes to confirm.', MISUSED);
  }
  const answer = await terminal.ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  terminal.say('Nothing was done.\n');
  return false;
}
