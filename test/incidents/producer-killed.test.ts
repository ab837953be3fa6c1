import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildProducer, survive } from '../support/client/survive.ts';
import { LocalProducerApi } from '../support/flow/local-producer-api.ts';

const FULL = process.env['FULL'] !== undefined;
const NOTIFICATIONS = FULL ? 10_000 : 60;
const MINUTES = FULL ? 30 : 4;

const api = new LocalProducerApi();
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'producer-'));
  await buildProducer(directory);
});
afterAll(async () => {
  await api.stop();
  api.remove();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

// SIGKILL ends the producer. SIGTERM stops the runtime, which finishes its running attempts: a runtime that is killed
// between the provider's acceptance and the retry record would repeat the attempt (docs/architecture.md, invariant 3).
// restarts.test.ts covers a runtime that is killed.
it(
  `${NOTIFICATIONS} notifications: the runtime comes and goes, the producer is killed again and again, and each is delivered once`,
  async () => {
    const pace = FULL
      ? { slice: 100, upMs: 20_000, downMs: 3_000, killMs: 5_000, atLeast: 3 }
      : { slice: 20, upMs: 8_000, downMs: 500, killMs: 1_000, atLeast: 1 };
    const started = performance.now();
    const { kills, outages } = await survive(api, { directory, notifications: NOTIFICATIONS, ...pace });
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    process.stdout.write(`${NOTIFICATIONS} once each in ${seconds} s: ${kills} kills, ${outages} outages\n`);
    expect([kills, outages].every((count) => count >= pace.atLeast)).toBe(true);
    // No stop interrupted an attempt: it would have been repeated after its claim had expired.
    expect(api.attempts).toBe(NOTIFICATIONS);
  },
  MINUTES * 60_000,
);
