import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { storedInOrder } from '../../../src/application/members/import-members.ts';

const windowsOf = async function* (...names: string[]) {
  for (const name of names) yield { name, ids: new Set(name) };
};

/** Storage that ends each window when the test says so. */
function slowStorage() {
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const store = ({ name }: { readonly name: string }) => {
    begun.push(name);
    return new Promise<string>((resolve, reject) =>
      ends.set(name, (error) => (error ? reject(error) : resolve(name.toUpperCase()))),
    );
  };
  const end = async (name: string, error?: Error) => {
    ends.get(name)?.(error);
    await setImmediate();
  };
  return { begun, store, end };
}

const { signal: ended } = new AbortController();

async function run(names: readonly string[], { store }: ReturnType<typeof slowStorage>, yielded: string[]) {
  for await (const [window, result] of storedInOrder(windowsOf(...names), store, { at_once: 2, ended })) {
    yielded.push(`${window.name} ${result}`);
  }
}

describe('windows of an import', () => {
  it('are stored at once, as many as allowed, and yielded in their order', async () => {
    const [storage, yielded] = [slowStorage(), [] as string[]];
    const done = run(['a', 'b', 'c'], storage, yielded);
    await setImmediate();
    expect(storage.begun).toEqual(['a', 'b']);
    await storage.end('b');
    expect(yielded).toEqual([]);
    await storage.end('a');
    expect(yielded).toContain('a A');
    expect(storage.begun).toEqual(['a', 'b', 'c']);
    await storage.end('c');
    await done;
    expect(yielded).toEqual(['a A', 'b B', 'c C']);
  });

  it('wait for an earlier one with the same member', async () => {
    const [storage, yielded] = [slowStorage(), [] as string[]];
    const done = run(['ax', 'bx'], storage, yielded);
    await setImmediate();
    expect(storage.begun).toEqual(['ax']);
    await storage.end('ax');
    expect(storage.begun).toEqual(['ax', 'bx']);
    await storage.end('bx');
    await done;
  });

  it('end with the first failure, after what was begun has ended, and none behind it is yielded', async () => {
    const [storage, yielded] = [slowStorage(), [] as string[]];
    let isOver = false;
    const done = run(['a', 'b', 'c'], storage, yielded).catch((error: Error) => {
      isOver = true;
      return error.message;
    });
    await setImmediate();
    await storage.end('a', new Error('storage is away'));
    expect([isOver, yielded]).toEqual([false, []]);
    await storage.end('b');
    expect(await done).toBe('storage is away');
    expect(yielded).toEqual([]);
    expect(storage.begun).toEqual(['a', 'b']);
  });
});
