import * as real from 'node:fs/promises';
import { dirname } from 'node:path';
import type { FileSystem } from '../../../src/client/spool/durable-files.ts';

/** The process is dead: its later calls have no effect. */
export class Died extends Error {}

type Fault = (call: number, name: string) => Error | undefined;

/**
 * The real file system, with a fault in each call for which `fault` returns an error. Calls are counted from 1,
 * including calls of open files. A failed write has written half of the content.
 * @param border whether each directory is a file system of its own
 */
export function faultyFs(fault: Fault, border = false): FileSystem & { readonly calls: () => number } {
  let calls = 0;
  let dead: Error | undefined;
  const step = (name: string) => {
    const error = dead ?? fault(++calls, name);
    if (error instanceof Died) dead = error;
    return error;
  };
  const guarded = <T extends object>(target: T, prefix: string): T =>
    new Proxy(target, {
      get(_, name) {
        const method = Reflect.get(target, name);
        if (typeof method !== 'function' || name === 'calls') return method;
        return async (...args: unknown[]) => {
          const error = step(`${prefix}${String(name)}`);
          if (error !== undefined) {
            if (name === 'writeFile') await method.call(target, halfOf(args[0]));
            if (error instanceof Died && name === 'close') await method.call(target);
            throw error;
          }
          if (border && name === 'rename' && dirname(String(args[0])) !== dirname(String(args[1])))
            throw errno('EXDEV');
          const result: unknown = await method.apply(target, args);
          return name === 'open' ? guarded(result as object, 'file.') : result;
        };
      },
    });
  return Object.assign(guarded({ ...real }, ''), { calls: () => calls });
}

function halfOf(content: unknown): string {
  const text = String(content);
  return text.slice(0, text.length / 2);
}

export function errno(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: no such luck`), { code });
}
