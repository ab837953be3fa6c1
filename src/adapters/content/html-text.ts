import type { Context, Script } from 'node:vm';
import { ExplainedError } from '../../core/model/problem.ts';

/**
 * The text of an HTML body: the text alternative of an e-mail, and the message for channels without HTML. Cells stand
 * apart and rows on lines, images are their alternative text, links are followed by their whole address, and what a
 * reader does not see is left out. The parser is loaded on first use.
 */
export async function htmlToPlainText(html: string): Promise<string> {
  const { textOf } = await import('./text-of-html.ts');
  return timeBoxed(() => textOf(html));
}

/** Wall-clock time, well below the timeout of the send: a conversion keeps the rest of its batch waiting. */
const CONVERSION_MS = 5_000;

/** The conversion took too long. The machine may have been slow, so the content is not refused for good. */
export class ConversionTooSlowError extends ExplainedError {
  override readonly name = 'ConversionTooSlowError';
}

let made: { readonly context: Context; readonly call: Script } | undefined;

/** Made on first use: a context is a second set of all of JavaScript's objects, for which every cold start would wait. */
function box() {
  if (made === undefined) {
    const vm = process.getBuiltinModule('node:vm');
    made = { context: vm.createContext({}), call: new vm.Script('convert()') };
  }
  return made;
}

/**
 * Returns the result of `convert`. Converters are synchronous, and some constructs take them time quadratic to their
 * length; only the watchdog of node:vm can stop them. Calls must not be nested.
 * @throws ConversionTooSlowError after `ms`; any error of convert
 */
export function timeBoxed<T>(convert: () => T, ms = CONVERSION_MS): T {
  const { context, call } = box();
  let converted: { value: T } | undefined;
  context['convert'] = () => {
    converted = { value: convert() };
  };
  try {
    call.runInContext(context, { timeout: ms });
  } catch (error) {
    if (Object(error).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new ConversionTooSlowError(`the content was not converted within ${ms} ms`, { cause: error });
  } finally {
    delete context['convert'];
  }
  if (converted === undefined) throw new Error('a converter returned without a result');
  return converted.value;
}
