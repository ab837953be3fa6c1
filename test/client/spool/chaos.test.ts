import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ApiStandIn } from '../../support/client/api-stand-in.ts';
import { buildProducer, survive } from '../../support/client/survive.ts';

const FULL = process.env['FULL'] !== undefined;
const NOTIFICATIONS = FULL ? 10_000 : 300;
const MINUTES = FULL ? 20 : 2;

let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'chaos-'));
  await buildProducer(directory);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it(
  `${NOTIFICATIONS} notifications: the API comes and goes, the producer is killed again and again, and each is delivered once`,
  async () => {
    const api = new ApiStandIn();
    // The API takes one request in twenty without an answer.
    api.losesAnswer = () => Math.random() < 0.05;
    const pace = { slice: FULL ? 100 : 30, upMs: 700, downMs: 500, killMs: 400, atLeast: 3 };
    const { kills, outages } = await survive(api, { directory, notifications: NOTIFICATIONS, ...pace });
    expect([kills, outages].every((count) => count >= 3)).toBe(true);
  },
  MINUTES * 60_000,
);
