import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPoster, type Poster } from '../../../src/adapters/http/post.ts';
import { ANSWERS, type AnswerCase } from '../../corpus/answers/cases.ts';
import { NEVER } from '../../support/delivery.ts';
import { type RawAnswer, type RawReceiver, startRawReceiver } from '../../support/http/raw-receiver.ts';

let receiver: RawReceiver;
beforeAll(async () => {
  receiver = await startRawReceiver();
});
afterAll(() => receiver.close());

/** One post over a connection of its own. @returns the status, or the code of what came instead */
async function post(answer: RawAnswer): Promise<number | string> {
  Object.assign(receiver, { answer, posts: 0 });
  const poster: Poster = createPoster({ timeoutMs: 10_000 });
  try {
    const { status } = await poster.post({ url: new URL(receiver.url), headers: {}, body: '{}', signal: NEVER });
    return status;
  } catch (error) {
    expect(error).toMatchObject({ name: 'NetworkFault', code: expect.any(String) });
    return (error as { readonly code: string }).code;
  } finally {
    expect(receiver.posts).toBe(1);
    poster.close();
  }
}

const bytesOf = ({ sends }: AnswerCase) => sends.join('');
/** Where the final head ends. */
function headEnd(bytes: string, from = 0): number {
  const start = from + (/^[\r\n]*/.exec(bytes.slice(from))?.[0].length ?? 0);
  const { index, 0: blank } = /\n\r?\n/.exec(bytes.slice(start)) ?? { index: 0, 0: '' };
  const end = start + index + blank.length;
  return bytes.startsWith('HTTP/1.1 1', start) ? headEnd(bytes, end) : end;
}

const small = ANSWERS.filter((one) => bytesOf(one).length < 4_000);
const answered = small.filter(({ status }) => status !== undefined);
/** Whose head Node's parser takes. */
const wellFormed = answered.filter((one) => one.text !== undefined);
const oneOf = (cases: readonly AnswerCase[]) => fc.constantFrom(...cases);
const junk = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((n) => String.fromCharCode(n)), maxLength: 60 });

function pieces(bytes: string, cuts: readonly number[]): string[] {
  const places = [0, ...[...new Set(cuts.map((n) => n % (bytes.length || 1)))].sort((a, b) => a - b), bytes.length];
  return places
    .slice(1)
    .map((to, i) => bytes.slice(places[i], to))
    .filter((piece) => piece !== '');
}

const RUNS = { numRuns: Number(process.env['ANSWER_RUNS'] ?? 100) };

it('reads an answer the same in any packets', async () => {
  await fc.assert(
    fc.asyncProperty(oneOf(answered), fc.array(fc.nat(), { maxLength: 5 }), async (one, cuts) => {
      expect(await post({ sends: pieces(bytesOf(one), cuts), ends: 'close' })).toBe(one.status);
    }),
    RUNS,
  );
});

it('counts a status whatever follows the head', async () => {
  let reset = 0;
  await fc.assert(
    fc.asyncProperty(oneOf(wellFormed), junk, fc.constantFrom('close', 'reset'), async (one, rest, ends) => {
      if (ends === 'reset') reset += 1;
      const head = bytesOf(one).slice(0, headEnd(bytesOf(one)));
      expect(await post({ sends: [head, rest], ends })).toBe(one.status);
    }),
    RUNS,
  );
  expect(reset).toBeGreaterThan(0);
});

it('takes what ends before the head ends for no answer, and never for another one', async () => {
  const seen = new Set<number | string>();
  await fc.assert(
    fc.asyncProperty(oneOf(answered), fc.nat(), async (one, at) => {
      const bytes = bytesOf(one);
      const read = await post({ sends: [bytes.slice(0, at % headEnd(bytes))], ends: 'close' });
      seen.add(read);
      expect(['ECONNRESET', one.status]).toContain(read);
      if (wellFormed.includes(one)) expect(read).toBe('ECONNRESET');
    }),
    RUNS,
  );
  expect(seen).toContain('ECONNRESET');
});

it('never throws, hangs or posts twice, whatever comes', async () => {
  const seen = new Set<number | string>();
  await fc.assert(
    fc.asyncProperty(oneOf(small), fc.nat(), junk, fc.nat(20), async (one, at, noise, drop) => {
      const bytes = bytesOf(one);
      const place = at % (bytes.length + 1);
      seen.add(await post({ sends: [bytes.slice(0, place) + noise + bytes.slice(place + drop)], ends: 'close' }));
    }),
    RUNS,
  );
  expect(seen).toContain('NO_HTTP');
  expect(seen).toContain(200);
});
