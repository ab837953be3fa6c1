import type { NewsletterEvent } from '../../src/core/newsletter/events/newsletter-event.ts';
import type { BulkEntry } from '../../src/core/newsletter/model/provider.ts';
import { between } from '../engine/random.ts';
import type { NewsletterWorld } from './newsletter-world.ts';

/** Milliseconds from an acceptance to its events: it was sent, it was delivered or bounced, somebody complained. */
const SENT_MS = [500, 10_000] as const;
const DELIVERED_MS = [1_000, 120_000] as const;
const COMPLAINED_MS = [60_000, 1_800_000] as const;

/** What the provider reports of accepted mails, later and in any order; some of it never comes. */
export function reportEvents(accepted: readonly BulkEntry[], world: NewsletterWorld): void {
  const { draw, scenario, time } = world;
  const { lost, bounced, complained } = scenario.events;
  const emit = (event: NewsletterEvent, [least, most]: readonly [number, number]) => {
    if (draw() < lost) return;
    time.at(time.now + between(draw, least, most), () => world.send(world.events, event));
  };
  for (const { tags } of accepted) {
    const [batch_id = '', chunk = ''] = tags.chunk.split('-');
    const place = { email_id: tags.email_id, batch_id, chunk: Number(chunk), n: Number(tags.n) };
    emit({ ...place, kinds: ['accepted'] }, SENT_MS);
    if (draw() < bounced) {
      emit({ ...place, kinds: ['accepted', 'bounced'], suppress: 'bounced' }, DELIVERED_MS);
      continue;
    }
    emit({ ...place, kinds: ['accepted', 'delivered'] }, DELIVERED_MS);
    if (draw() >= complained) continue;
    emit({ ...place, kinds: ['accepted', 'complained'], suppress: 'complained' }, COMPLAINED_MS);
  }
}
