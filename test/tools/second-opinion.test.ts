import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANSWERS, type AnswerCase } from '../corpus/answers/cases.ts';
import { type RawReceiver, startRawReceiver } from '../support/http/raw-receiver.ts';
import { hasTool } from '../support/tools/tools.ts';

let receiver: RawReceiver;
beforeAll(async () => {
  receiver = await startRawReceiver();
});
afterAll(() => receiver.close());

/** The status that curl counts; 0: none. */
const byCurl = () =>
  new Promise<number>((done) => {
    const args = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--max-time', '3', '--data', '{}', receiver.url];
    execFile('curl', args, (_, out) => done(Number(out)));
  });

/** The status that undici counts, which is Node's fetch. */
async function byUndici(): Promise<number> {
  try {
    const options = { method: 'POST', body: '{}', redirect: 'manual', signal: AbortSignal.timeout(3_000) } as const;
    return (await fetch(receiver.url, options)).status;
  } catch {
    return 0;
  }
}

/** Both call it no answer; RFC 9110 §15 says that it counts as 5xx. */
const ALONE = ['status 099'];

describe.skipIf(!hasTool('curl', '/usr/bin/curl', 'curl'))(
  'answers, as curl and undici read them',
  { timeout: 60_000 },
  () => {
    it.each(ANSWERS.filter(({ early }) => !early).map((one) => [one.name, one] as const))(
      '%s',
      async (name, one: AnswerCase) => {
        receiver.answer = one;
        const others = [await byCurl(), await byUndici()];
        if (!ALONE.includes(name)) expect(others).toContain(one.status ?? 0);
      },
    );
  },
);
