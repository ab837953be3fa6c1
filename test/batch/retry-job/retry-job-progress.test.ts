import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { notesOnly, terminalProgress } from '../../../src/batch/retry-job/retry-job-progress.ts';

const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
const WRAP_LINES = '\x1b[?7h';

/** What a terminal, or a pipe, got to see. */
function streamOf(isTTY: boolean) {
  let text = '';
  const sink = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  const stream = Object.assign(sink, { isTTY, columns: 80 }) as unknown as NodeJS.WriteStream;
  return { stream, text: () => text };
}

describe('progress on a terminal', () => {
  it('gives back the cursor and the wrapping of lines, whenever it ends', () => {
    const { stream, text } = streamOf(true);
    const progress = terminalProgress(stream);
    progress.dispatched(3);
    progress.settled({ SUCCESS: 1 }, 2);
    expect(text()).toContain(HIDE_CURSOR);
    expect(text()).not.toContain(SHOW_CURSOR);

    progress.end();
    expect(text().lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(text().lastIndexOf(HIDE_CURSOR));
    expect(text()).toContain(WRAP_LINES);
  });

  it('may end more often than once, and writes nothing the second time', () => {
    const { stream, text } = streamOf(true);
    const progress = terminalProgress(stream);
    progress.dispatched(3);
    progress.settled({}, 3);
    progress.end();
    const before = text();
    progress.end();
    expect(text()).toBe(before);
  });

  it('writes a note on a line of its own', () => {
    const { stream, text } = streamOf(true);
    const progress = terminalProgress(stream);
    progress.dispatched(3);
    progress.note('careful');
    expect(text().endsWith('dispatched 3\r\x1b[Kcareful\n')).toBe(true);
  });
});

describe('progress elsewhere', () => {
  it('is text without any control characters', () => {
    const { stream, text } = streamOf(false);
    const progress = terminalProgress(stream);
    progress.dispatched(1);
    progress.settled({ SUCCESS: 1 }, 0);
    progress.note('careful');
    progress.end();
    expect(text()).toBe('1 settled, 0 open: SUCCESS 1\ncareful\n');
  });

  it('is nothing but notes for a program', () => {
    const { stream, text } = streamOf(false);
    const progress = notesOnly(stream);
    progress.settled({ SUCCESS: 1 }, 0);
    progress.note('careful');
    progress.end();
    expect(text()).toBe('careful\n');
  });
});
