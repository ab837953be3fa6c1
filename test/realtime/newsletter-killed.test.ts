import { writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { killFunction } from '../support/flow/kill-function.ts';
import { readReceipts } from '../support/newsletter/flow/mail-receipts.ts';
import { STATUSES, writeMembers } from '../support/newsletter/flow/members-file.ts';
import { checkEnd, NewsletterWatch } from '../support/newsletter/flow/newsletter-audit.ts';
import { NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';

/** `NEWSLETTER_MEMBERS=50000 NEWSLETTER_KILLS=10` is the run whose figures docs/testing.md has. */
const MEMBERS = Number(process.env['NEWSLETTER_MEMBERS'] ?? 1_500);
const KILLS = Number(process.env['NEWSLETTER_KILLS'] ?? 3);
/** Mails per second: a smaller number of members is sent as long, so that the kills come in the middle. */
const RATE = Math.min(500, MEMBERS / 50);
/** Seconds for which a dead sender may go unnoticed, several times over, and the sending itself at a tenth of the rate. */
const WITHIN_MS = (KILLS * 240 + (MEMBERS / RATE) * 10 + 120) * 1_000;

const flow = new Flow();
const client = new NewsletterClient(flow);
const dataDir = `${flow.directory}/data`;
/** For the import and for reading every recipient: 20 ms each on a busy machine. */
const AROUND_MS = 240_000 + MEMBERS * 20;
const settings = { dataDir, sesLimits: { per_second: RATE } };
/** The preparation is over soon, so it comes first. */
const VICTIMS = ['newsletter-prepare', 'newsletter-send', 'runtime', 'newsletter-events', 'newsletter-send', 'runtime'];

afterAll(() => flow.end(), 60_000);

/**
 * Kills the whole runtime, or one process of a function as soon as one runs: after the death of a runtime nothing is
 * sent until the claims of its senders have ended.
 */
async function kill(victim: string): Promise<string> {
  for (const since = Date.now(); victim !== 'runtime' && Date.now() - since < 60_000; await setTimeout(100)) {
    const { pid, functions } = flow.endpoints;
    if (killFunction(pid, functions[victim] ?? '')) return victim;
  }
  await flow.stop('SIGKILL');
  await setTimeout(500 + Math.random() * 2_000);
  await flow.start(settings);
  return 'runtime';
}

/** The list of an email and its status, of one moment: events may still resolve uncertain recipients. */
async function readAll(id: string) {
  for (;;) {
    const before = await client.status(id);
    const recipients = await client.recipients(id);
    const status = await client.status(id);
    if (before.counts.uncertain === status.counts.uncertain) return { status, recipients };
  }
}

it(
  `${MEMBERS} members in three segments get one mail each, whatever is killed ${KILLS} times while it is sent`,
  async () => {
    await flow.start(settings);
    await client.setUpNewsletter({ sending_domain: 'mail.example.com', fallback_domain: 'mail.example.net' });
    const members = writeMembers(`${flow.directory}/members.csv`, MEMBERS);
    const importing = Date.now();
    expect(await client.import(`${flow.directory}/members.csv`)).toMatchObject({ created: MEMBERS, bad: 0 });
    const began = Date.now();
    writeFileSync(`${flow.directory}/post.md`, '# By the command\n\nDear {name, "reader"},\n\nnews.');
    const part = '<div data-gh-segment="status:paid"><p>Thank you for paying.</p></div>';
    const ids = [
      await client.publish({
        subject: 'News for {name, "you"}',
        body: `<p>News.</p>`,
        format: 'html',
        segment: 'status:free',
      }),
      await client.publish({ subject: 'Paid', body: `<p>News.</p>${part}`, format: 'html', segment: 'status:paid' }),
      await client.send(`${flow.directory}/post.md`, '--segment', 'status:comped'),
    ];
    const watch = new NewsletterWatch(client, () => ids);
    const killed: string[] = [];
    for (let i = 0; i < KILLS; i++) {
      if (i > 0) await setTimeout(2_000 + Math.random() * 28_000);
      killed.push(await kill(VICTIMS[i % VICTIMS.length] ?? 'runtime'));
    }
    expect(killed).toContain('newsletter-send');
    const last = () => ids.map((id) => watch.seen.get(id)?.last);
    const isOver = () => last().every((status) => status?.status === 'submitted' || status?.status === 'failed');
    while (!isOver() && Date.now() - began < WITHIN_MS) await setTimeout(1_000);
    const seconds = (Date.now() - began) / 1000;
    // Events resolve the calls whose answer was lost; those whose sender died stay uncertain only if nothing was sent.
    const uncertain = () => last().reduce((sum, status) => sum + (status?.counts.uncertain ?? 0), 0);
    for (let rest = uncertain(), since = Date.now(); rest > 0 && Date.now() - since < 60_000; await setTimeout(1_000)) {
      if (uncertain() !== rest) [rest, since] = [uncertain(), Date.now()];
    }
    const watched = await watch.end();
    const receipts = await readReceipts(dataDir);
    const figures = ids.map((id) => {
      const { reads, unanswered, last: status } = watched.get(id) ?? {};
      return { counts: status?.counts, reads, unanswered };
    });
    const took = { import_s: (began - importing) / 1000, seconds };
    console.log(JSON.stringify({ MEMBERS, killed, ...took, mails: receipts.length, figures }));
    for (const [i, id] of ids.entries()) {
      const expected = members.get(STATUSES[i] ?? '') ?? [];
      const mails = receipts.filter(({ tags }) => tags['email_id'] === id);
      const { status, recipients } = await readAll(id);
      expect(status.status).toBe('submitted');
      checkEnd({ expected, recipients, receipts: mails, status });
      // Whoever the provider refuses has failed, but for calls whose sender died.
      const refused = expected.filter((to) => to.startsWith('missing')).length;
      expect(status.counts.failed).toBeLessThanOrEqual(refused);
      expect(status.counts.failed + status.counts.uncertain).toBeGreaterThanOrEqual(refused);
      expect(watched.get(id)?.reads).toBeGreaterThan(5);
    }
    const domains = Object.groupBy(receipts, ({ from }) => /@([\w.-]+)/.exec(from)?.[1] ?? '');
    const sent = (domain: string) => domains[domain]?.length ?? 0;
    // The first day of warming allows 200 mails.
    expect(sent('mail.example.com')).toBeLessThanOrEqual(200);
    expect(sent('mail.example.com')).toBeGreaterThan(0);
    expect(sent('mail.example.com') + sent('mail.example.net')).toBe(receipts.length);
  },
  WITHIN_MS + AROUND_MS,
);
