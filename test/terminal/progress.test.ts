import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { outcomeCount } from '../../src/batch/retry-job/run-retry-job.ts';
import { showProgress } from '../../src/terminal/progress.ts';
import { processTerminal } from '../../src/terminal/terminal.ts';

const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
const WRAP_LINES = '\x1b[?7h';

/** Progress on a terminal or a pipe, and the text that stderr received. */
function progressOn({ isTTY, json = false }: { readonly isTTY: boolean; readonly json?: boolean }) {
  let text = '';
  const sink = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  const stderr = Object.assign(sink, { fd: 2 as const, isTTY, columns: 80 }) as unknown as typeof process.stderr;
  const terminal = processTerminal({ stdin: process.stdin, stdout: process.stdout, stderr });
  return { progress: showProgress({ terminal, json }), text: () => text };
}

describe('progress on a terminal', () => {
  it('gives back the cursor and the wrapping of lines, whenever it ends', () => {
    const { progress, text } = progressOn({ isTTY: true });
    progress.update({ verb: 'dispatched', done: 3 });
    progress.update(outcomeCount({ SUCCESS: 1 }, 2));
    expect(text()).toContain(HIDE_CURSOR);
    expect(text()).not.toContain(SHOW_CURSOR);

    progress.end();
    expect(text().lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(text().lastIndexOf(HIDE_CURSOR));
    expect(text()).toContain(WRAP_LINES);
  });

  it('may end more often than once, and writes nothing the second time', () => {
    const { progress, text } = progressOn({ isTTY: true });
    progress.update({ verb: 'dispatched', done: 3 });
    progress.update(outcomeCount({}, 3));
    progress.end();
    const before = text();
    progress.end();
    expect(text()).toBe(before);
  });

  it('writes a note on a line of its own', () => {
    const { progress, text } = progressOn({ isTTY: true });
    progress.update({ verb: 'dispatched', done: 3 });
    progress.note('careful');
    expect(text().endsWith('dispatched 3\r\x1b[Kcareful\n')).toBe(true);
  });

  it('shows all counts of a million in 80 columns: the bar gives way', () => {
    const { progress, text } = progressOn({ isTTY: true });
    progress.update(outcomeCount({ RETRY: 123_456, SUCCESS: 765_432, FAILED: 100_000 }, 11_112));
    const line = text().match(/ [█░]+ [ -~·]*/u)?.[0];
    progress.end();
    expect(line).toContain('FAILED 100000');
    expect(line?.length).toBeLessThanOrEqual(80);
  });

  it('replaces a step by the next one, and removes the last one at the end', () => {
    const { progress, text } = progressOn({ isTTY: true });
    progress.step('one');
    progress.step('two');
    progress.end();
    expect(text()).toBe('\r\x1b[K• one\r\x1b[K• two\r\x1b[K');
  });
});

describe('progress elsewhere', () => {
  it('is text without any control characters', () => {
    const { progress, text } = progressOn({ isTTY: false });
    progress.update({ verb: 'dispatched', done: 1 });
    progress.update(outcomeCount({ SUCCESS: 1 }, 0));
    progress.note('careful');
    progress.end();
    expect(text()).toBe('settled 1 of 1: SUCCESS 1\ncareful\n');
  });

  it('is a line per step', () => {
    const { progress, text } = progressOn({ isTTY: false });
    progress.step('one');
    progress.step('two');
    progress.end();
    expect(text()).toBe('one\ntwo\n');
  });

  it('is nothing but notes for a program', () => {
    const { progress, text } = progressOn({ isTTY: false, json: true });
    progress.update(outcomeCount({ SUCCESS: 1 }, 0));
    progress.note('careful');
    progress.end();
    expect(text()).toBe('careful\n');
  });
});
