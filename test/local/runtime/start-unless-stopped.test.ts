import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LocalRuntime } from '../../../src/local/runtime/runtime.ts';
import { startUnlessStopped } from '../../../src/local/runtime/start-unless-stopped.ts';
import { synthesize } from '../../../src/local/runtime/synthesize.ts';
import { scratch } from '../../support/local/tiny-app.ts';
import { writeTinyStack } from '../../support/local/tiny-stack.ts';

let directory: ReturnType<typeof scratch>;
let shown = '';
let steps: string[] = [];
const inside = (name: string) => join(directory.path, name);

beforeEach(() => {
  directory = scratch();
  writeTinyStack(directory.path, inside('results.txt'));
  shown = '';
  steps = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    shown += String(text);
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  directory.remove();
});

/** Starts a runtime and sends it the signal during the step. */
function startStoppedAt(step: RegExp): Promise<LocalRuntime | number> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<number>();
  const onProgress = (now: string) => {
    steps.push(now);
    if (step.test(now)) stop(130);
  };
  return startUnlessStopped({ assemblyDir: directory.path, workDir: inside('work'), onProgress }, stopped);
}

describe('a runtime that is stopped while it starts', () => {
  it.each([[/stand-ins/], [/tables/], [/functions/]])(
    'at %s ends with the signal’s code, shows no error and leaves nothing running',
    async (step) => {
      expect(await startStoppedAt(step)).toBe(130);
      expect(shown).toMatch(/stopping\n.*stopped\n$/);
      expect(shown).not.toContain('✗');
      expect(steps.at(-1)).toMatch(step);
      expect(existsSync(inside('work/endpoints.json'))).toBe(false);
      expect(existsSync(inside('work/runtime.pid'))).toBe(false);
      for (const port of Object.values(JSON.parse(readFileSync(inside('work/ports.json'), 'utf8')))) {
        await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow();
      }
    },
  );

  it('throws the error of a start that fails without a signal', async () => {
    const options = { assemblyDir: inside('nothing'), workDir: inside('work') };
    await expect(startUnlessStopped(options, new Promise(() => {}))).rejects.toThrow(/manifest\.json cannot be read/);
  });

  it('does not show errors that the signal causes', async () => {
    // Ctrl-C also ends a child process, and its end may be noticed before the signal.
    const stopped = new Promise<number>((resolve) => {
      setTimeout(() => resolve(130), 20);
    });
    const options = { assemblyDir: directory.path, workDir: inside('work'), schedule: 'never' };
    expect(await startUnlessStopped(options, stopped)).toBe(130);
    expect(shown).not.toContain('✗');
  });
});

describe('a synthesis that is stopped', () => {
  it('ends its app and leaves no partial assembly', async () => {
    const stop = new AbortController();
    const synthesis = synthesize(inside('work'), () => setImmediate(() => stop.abort()), stop.signal);

    await expect(synthesis).rejects.toMatchObject({ name: 'AbortError' });
    expect(readdirSync(inside('work/synth'))).toEqual([]);
  });

  it('is made by the one that waited for it', async () => {
    const ran: string[] = [];
    const [first, second] = [new AbortController(), new AbortController()];
    const start = (name: string, stop: AbortController) =>
      expect(synthesize(inside('work'), () => ran.push(name), stop.signal)).rejects.toMatchObject({
        name: 'AbortError',
      });
    const stopped = start('first', first);
    const waiting = start('second', second);
    await vi.waitUntil(() => ran.length > 0);
    expect(ran).toEqual(['first']);

    first.abort();
    await stopped;
    await vi.waitUntil(() => ran.length > 1, 10_000);
    second.abort();
    await waiting;
    expect(ran).toEqual(['first', 'second']);
    expect(readdirSync(inside('work'))).toEqual(['synth']);
  });
});
