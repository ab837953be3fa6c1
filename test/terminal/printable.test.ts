import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { sayError } from '../../src/terminal/output.ts';
import { showProgress } from '../../src/terminal/progress.ts';
import { fields, table } from '../../src/terminal/table.ts';
import { processTerminal } from '../../src/terminal/terminal.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

/** Each sets a title or colours, erases, hides, or turns the order of what is read. */
const HOSTILE = [
  ['an escape sequence', '\x1b[2J'],
  ['a colour', '\x1b[30mhidden'],
  ['an operating system command', '\x1b]0;title\x07'],
  ['a hyperlink', '\x1b]8;;https://evil.example\x1b\\text\x1b]8;;\x1b\\'],
  ['a control sequence of one character', '\x9b31m'],
  ['a carriage return', 'FAILED\rSUCCESS'],
  ['a backspace', 'a\b\x7f'],
  ['a bidirectional override', 'a\u202etxt.exe'],
  ['a bidirectional isolate', '\u2066a\u2069'],
  ['an invisible character', 'TENANT\u200b001'],
  ['a line separator', 'a\u2028b'],
  ['a character of the tag block', 'a\u{E0041}'],
] as const;
const HIDDEN = /[\p{Cc}\p{Bidi_Control}\u200b\u2028\u2029\u2060\ufeff\u{E0000}-\u{E007F}]/u;
/** What a table and an error add on a terminal that shows colours. */
const OUR_COLORS = new RegExp(`${'\x1b'}\\[(?:2|22|31|39)m`, 'g');

function streams({ isTTY }: { readonly isTTY: boolean }) {
  const written = { out: '', err: '' };
  const sink = (name: 'out' | 'err') =>
    Object.assign(
      new Writable({
        write(chunk, _, done) {
          written[name] += String(chunk);
          done();
        },
      }),
      { isTTY, columns: 200, hasColors: () => isTTY },
    ) as unknown as typeof process.stdout;
  const terminal = processTerminal({ stdin: process.stdin, stdout: sink('out'), stderr: sink('err') as never });
  return { terminal, written };
}

describe.each(HOSTILE)('%s in a value of someone else', (_, value) => {
  it.each([true, false])('is shown, not obeyed (terminal: %s)', (isTTY) => {
    const { terminal, written } = streams({ isTTY });
    terminal.print(`id ${value}\n`);
    terminal.print(table([value], [['id', (row: string) => row]]));
    terminal.print(fields([['id', value]]));
    sayError(terminal, `no ${value}`);
    const text = written.out + written.err;
    expect(HIDDEN.test(text.replaceAll(OUR_COLORS, '').replaceAll('\n', ''))).toBe(false);
    expect(text).toMatch(/\\u[\da-f]{4}/);
  });

  it('is shown in a step, a note and a count, too', () => {
    const { terminal, written } = streams({ isTTY: true });
    const progress = showProgress({ terminal, json: false });
    progress.step(value);
    progress.update({ verb: value, done: 1, total: 2, summary: value });
    progress.note(value);
    progress.end();
    expect(written.err).not.toContain(value);
    expect(stripVTControlCharacters(written.err)).toMatch(/\\u[\da-f]{4}/);
  });

  it('stays the same value for a program that reads the JSON', () => {
    const { terminal, written } = streams({ isTTY: true });
    terminal.print(`${JSON.stringify({ value })}\n`);
    expect(HIDDEN.test(written.out.trimEnd())).toBe(false);
    expect(JSON.parse(written.out)).toEqual({ value });
  });
});

describe('what is printed', () => {
  it('keeps our own colours where the stream shows them, and only there', () => {
    const { terminal, written } = streams({ isTTY: true });
    terminal.print(`${terminal.colors.red('dead')} ${terminal.colors.bold(terminal.colors.green('sent'))}\n`);
    expect(written.out).toBe('\x1b[31mdead\x1b[39m \x1b[1m\x1b[32msent\x1b[39m\x1b[22m\n');
    const plain = streams({ isTTY: false });
    plain.terminal.say(`${terminal.colors.red('dead')}\n`);
    expect(plain.written.err).toBe('dead\n');
  });

  it('keeps a value in its line and its column', () => {
    const { terminal, written } = streams({ isTTY: false });
    const rows = [
      ['a\nb  SUCCESS', 'FAILED'],
      ['c', 'RETRY'],
    ] as const;
    terminal.print(
      table(rows, [
        ['id', ([id]: readonly string[]) => id],
        ['status', ([, status]: readonly string[]) => status],
      ]),
    );
    terminal.print(fields([['id', 'a\nstatus  SUCCESS']]));
    expect(written.out.split('\n')).toEqual([
      'id                 status',
      'a\\u000ab  SUCCESS  FAILED',
      'c                  RETRY',
      '  id  a\\u000astatus  SUCCESS',
      '',
    ]);
  });

  it('leaves text of any language as it is', () => {
    const { terminal, written } = streams({ isTTY: true });
    const text = '通知 शुभ شكرا 👩‍👩‍👧 é\tañb\n';
    terminal.print(text);
    expect(written.out).toBe(text);
  });
});

it('goes on when its reader has closed the pipe, and with nothing else that is wrong', async () => {
  const sink = () => new Writable() as unknown as typeof process.stdout;
  const stdout = sink();
  processTerminal({ stdin: process.stdin, stdout, stderr: sink() as never });
  stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  await new Promise(setImmediate);
  expect(() => stdout.emit('error', Object.assign(new Error('no space'), { code: 'ENOSPC' }))).toThrow('no space');
});

/** Writes a result by a process whose stdout takes nothing. @returns its exit code and stderr */
function printTo(device: string) {
  const code = `const { processTerminal } = await import(${JSON.stringify(join(PROJECT_ROOT, 'src/terminal/terminal.ts'))});
    const { print } = processTerminal();
    print('the key\\n');
    process.exitCode = await new Promise((resolve) => setTimeout(resolve, 50, 0));
    print('and more\\n');`;
  const stdout = openSync(device, 'w');
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: PROJECT_ROOT,
    stdio: ['ignore', stdout, 'pipe'],
    encoding: 'utf8',
  });
  closeSync(stdout);
  return { status, stderr };
}

it.skipIf(!existsSync('/dev/full'))(
  'shows on stderr what stdout does not take, as a key is made only once, and fails',
  () => {
    const stderr = 'The output cannot be written to stdout (ENOSPC). It is:\nthe key\nand more\n';
    expect(printTo('/dev/full')).toEqual({ status: 1, stderr });
    expect(printTo('/dev/null')).toEqual({ status: 0, stderr: '' });
  },
);

it('the commands write nothing but fixed texts past the terminal', () => {
  const root = join(PROJECT_ROOT, 'src');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  // What runs in a browser has no terminal.
  const inTerminals = files.filter((name) => !name.startsWith(join('client', 'browser')));
  const written = inTerminals.flatMap((name) => [
    ...readFileSync(join(root, name), 'utf8').matchAll(/(?:process\.std(?:out|err)\.write|console\.\w+)\((.*)/g),
  ]);
  const texts = written.map(([, text = '']) => text.replace(/\);$/, ''));
  expect(new Set(texts)).toEqual(
    new Set([
      'USAGE',
      "'ready\\n'",
      "'', () => resolve()",
      // The log line of a library, in the form of JSON.
      "JSON.stringify({ level: 'WARN', message: 'spool file given up', ...given })",
      "JSON.stringify({ level: 'WARN', message: 'spool is larger than expected', ...size })",
    ]),
  );
});
