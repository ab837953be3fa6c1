import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemberFileError } from '../../../src/adapters/member-files/cells.ts';
import { refuseJapaneseEncodings } from '../../../src/adapters/member-files/lines.ts';
import { readMembers } from '../../../src/adapters/member-files/read-members.ts';
import { checkedWindows, type ImportWindow } from '../../../src/application/members/import-members.ts';
import type { FileStanding } from '../../../src/core/newsletter/model/member.ts';
import { PROJECT_ROOT } from '../../support/project-root.ts';

const CORPUS = join(PROJECT_ROOT, 'test', 'corpus', 'member-files');
const NOW = '2026-11-22T00:00:00.000Z';
const casesOf = <T>(file: string): readonly T[] => JSON.parse(readFileSync(join(CORPUS, file), 'utf8'));

interface Given {
  readonly name?: string;
  readonly as?: FileStanding;
}

interface Read {
  readonly members: ImportWindow['members'];
  readonly faults: ImportWindow['faults'];
  readonly skipped: number;
}

/** What an import stores of a file, by its deployed readers and checks. @param pieces how the bytes arrive */
async function read(bytes: Uint8Array, { name = 'members.csv', as }: Given, pieces = 65_536): Promise<Read> {
  const arriving = async function* () {
    for (let at = 0; at < bytes.length; at += pieces) yield bytes.subarray(at, at + pieces);
  };
  await refuseJapaneseEncodings(arriving());
  const rules = { tenant_id: 't', newsletter_id: 'weekly', known: new Set(['weekly', 'daily']), labels: [] };
  const format = name.endsWith('.jsonl') ? 'jsonl' : 'csv';
  const records = readMembers(arriving(), { format, file_name: name, after: 0, newsletter_id: 'weekly', as });
  const sealing = { emailHash: async (_: string, email: string) => `#${email}` };
  const windows = await all(
    checkedWindows(records, { ...rules, ...(as && { as }) }, { sealing: sealing as never, clock: () => new Date(NOW) }),
  );
  return {
    members: windows.flatMap(({ members }) => members),
    faults: windows.flatMap(({ faults }) => faults),
    skipped: windows.reduce((sum, { skipped }) => sum + skipped, 0),
  };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const nameOf = ({ email }: { readonly email: string }) => email.split('@')[0] ?? '';
/** `now` stands for the time of the import. */
const timed = (expected: unknown) => JSON.parse(JSON.stringify(expected).replaceAll('"now"', JSON.stringify(NOW)));

interface ExportCase extends Given {
  readonly file: string;
  readonly why: string;
  readonly members?: Readonly<Record<string, object>>;
  readonly faults?: Readonly<Record<string, string>>;
  readonly skipped?: number;
  readonly refused?: string;
}
const EXPORTS = casesOf<ExportCase>('exports.json');
const bytesOf = (file: string) => readFileSync(join(CORPUS, 'exports', file));

describe('an export of another system', () => {
  it.each(EXPORTS)(
    '$file, imported as $as: $why',
    async ({ file, members = {}, faults = {}, skipped = 0, refused, ...given }) => {
      const reading = read(bytesOf(file), given);
      if (refused !== undefined) return void (await expect(reading).rejects.toThrow(refused));

      const { members: stored, ...others } = await reading;
      expect(stored.map(nameOf)).toEqual(Object.keys(members));
      for (const member of stored) expect(member).toMatchObject(timed(members[nameOf(member)]));
      expect(Object.fromEntries(others.faults.map(({ line, column }) => [line, column]))).toEqual(faults);
      expect(others.skipped).toBe(skipped);
    },
  );

  it('is refused without a newsletter, because it does not say from which somebody has unsubscribed', async () => {
    const bytes = async function* () {
      yield bytesOf('kit.csv');
    };
    const given = { format: 'csv', file_name: 'kit.csv', after: 0, newsletter_id: undefined, as: undefined } as const;
    await expect(all(readMembers(bytes(), given))).rejects.toThrow('An export of Kit');
  });
});

interface CellCase {
  readonly column: string;
  readonly cells: readonly string[];
  readonly reads?: object;
  readonly bad?: string;
  readonly why: string;
}
const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;

describe('a cell of our own columns', () => {
  const CASES = casesOf<CellCase>('cells.json').flatMap(({ cells, ...one }) => cells.map((cell) => ({ ...one, cell })));

  it.each(CASES)('$column = $cell: $why', async ({ column, cell, reads = {}, bad }) => {
    const text = `email,unsubscribed,${column}\nann@example.com,,${quoted(cell)}\n`.replace(
      /^email,unsubscribed,unsubscribed\n(.*),,/,
      'email,unsubscribed\n$1,',
    );
    const { members, faults } = await read(Buffer.from(text), {});
    if (bad === undefined) expect([members, faults]).toMatchObject([[timed(reads)], []]);
    else expect(faults.map((fault) => `${fault.column} ${fault.message}`)).toEqual([expect.stringContaining(bad)]);
  });
});

interface FileCase extends Given {
  readonly text?: string;
  readonly base64?: string;
  readonly emails?: readonly string[];
  readonly addresses?: readonly string[];
  readonly unsubscribed?: readonly string[];
  readonly suppressed?: readonly string[];
  readonly faults?: Readonly<Record<string, string>>;
  readonly refused?: string;
  readonly says?: string;
  readonly why: string;
}

describe('a file as people have it', () => {
  it.each(casesOf<FileCase>('files.json'))('$name $text $base64: $why', async (given) => {
    const {
      text = '',
      base64,
      emails,
      addresses,
      unsubscribed = [],
      suppressed = [],
      faults = {},
      refused,
      says = '',
    } = given;
    const bytes = base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64');
    for (const pieces of [65_536, 1, 7]) {
      const reading = read(bytes, given, pieces);
      if (refused !== undefined) {
        const error = await reading.then(() => undefined).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(MemberFileError);
        expect(String(error)).toContain(refused);
        expect(String(error)).toContain(says);
        continue;
      }
      const { members, faults: found } = await reading;
      expect(members.map(({ email }) => email)).toEqual(addresses ?? emails?.map((one) => `${one}@example.com`));
      expect(members.filter((one) => 'weekly' in (one.unsubscribed ?? {})).map(nameOf)).toEqual(unsubscribed);
      expect(members.filter((one) => one.suppressed !== undefined).map(nameOf)).toEqual(suppressed);
      expect(found.map(({ line }) => String(line))).toEqual(Object.keys(faults));
      for (const fault of found) expect(fault.message).toContain(faults[fault.line]);
    }
  });
});

describe('another spelling of the same file', () => {
  const readable = EXPORTS.filter(({ refused }) => refused === undefined);
  const rowsOf = (file: string) => bytesOf(file).toString();

  it.each(readable)(
    '$file as $as reads the same: other line ends, byte order marks, UTF-16, sep=, empty rows',
    async (given) => {
      const text = rowsOf(given.file);
      const original = await read(Buffer.from(text), { ...given, name: given.file });
      // The note of one line has a line break: its last line has another number, its member is the same.
      const spellings: Readonly<Record<string, Uint8Array>> = {
        crlf: Buffer.from(text.replaceAll('\n', '\r\n')),
        cr: Buffer.from(text.replaceAll('\n', '\r')),
        bom: Buffer.from(`\ufeff${text}`),
        utf16: Buffer.from(`\ufeff${text}`, 'utf16le'),
        'no end': Buffer.from(text.trimEnd()),
        emptied: Buffer.from(`${text}${(text.includes(';') ? ';' : ',').repeat(3)}\n\n`),
      };
      for (const [how, bytes] of Object.entries(spellings)) {
        expect({ how, ...(await read(bytes, { ...given, name: given.file })) }).toEqual({ how, ...original });
      }
    },
  );

  it('never throws anything but a refusal, and never makes a member of nobody, whatever is changed', async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...readable),
        fc.array(
          fc.tuple(fc.nat(), fc.constantFrom('"', ',', ';', '\n', '\r', '\0', '\xff', '@', '', '\ufffd', "'", '=')),
          {
            minLength: 1,
            maxLength: 4,
          },
        ),
        fc.constantFrom(65_536, 3),
        async ({ file, as }, changes, pieces) => {
          const bytes = changes.reduce((text, [at, piece]) => {
            const i = at % (text.length + 1);
            return text.slice(0, i) + piece + text.slice(i + 1);
          }, bytesOf(file).toString('latin1'));
          const known = new Set((await read(bytesOf(file), { name: file, ...(as && { as }) })).members.map(nameOf));
          const result = await read(Buffer.from(bytes, 'latin1'), { name: file, ...(as && { as }) }, pieces).catch(
            (error: unknown) => {
              expect(error).toBeInstanceOf(MemberFileError);
              return undefined;
            },
          );
          if (result === undefined) return;
          taken += 1;
          const changed = result.members.filter((member) => !known.has(nameOf(member)));
          expect(changed.length).toBeLessThanOrEqual(changes.length);
        },
      ),
      { numRuns: 300 },
    );
    expect(taken).toBeGreaterThan(100);
  });
});
