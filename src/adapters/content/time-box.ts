import { createContext, Script } from 'node:vm';

/** Wall-clock time: well below the send's own, for a conversion keeps everything else of its batch waiting. */
const CONVERSION_MS = 5_000;

/** It may have been the machine that was slow: no judgement on the content, and so not for good. */
export class ConversionTooSlowError extends Error {
  override readonly name = 'ConversionTooSlowError';
}

const context = createContext({});
const call = new Script('convert()');

/**
 * What `convert` returns. Converters are synchronous, and there is always one more construct that takes them the square
 * of its length; nothing but the engine's watchdog, which comes with node:vm, stops them. Not to be nested.
 * @throws ConversionTooSlowError after `ms`; whatever convert throws.
 */
export function timeBoxed<T>(convert: () => T, ms = CONVERSION_MS): T {
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
