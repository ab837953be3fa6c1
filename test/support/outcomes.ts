import { createHash } from 'node:crypto';
import type { ForeignRow } from '../../src/core/model/notification.ts';
import type { Outcome } from '../../src/core/outcomes/outcome.ts';
import { toldOf as toldBy } from '../../tools/simulation/world/stores.ts';

export const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 32);
export const CONTEXT = { hash, seen_at: '2026-03-02T00:00:00.000Z' };

/** What an image tells, with ids as deployed. */
export const toldOf = (image: ForeignRow): Outcome[] => toldBy(image, CONTEXT);
