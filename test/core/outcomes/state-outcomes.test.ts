import { describe, expect, it } from 'vitest';
import { type Breaker, closed, draining, opened, probing, reopened } from '../../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import {
  addressChanges,
  emailOutcomes,
  memberOutcomes,
  providerOutcomes,
} from '../../../src/core/outcomes/state-outcomes.ts';
import { CONTEXT } from '../../support/outcomes.ts';
import { at, iso } from '../../support/rows.ts';

const context = (ms: number) => ({ now: at(ms), policy: DEFAULT_BREAKER_POLICY });
const id = 'webhook#tenant-1@hooks.example.com';

/** What a history of a breaker's items tells. */
function toldOf(...items: readonly (Breaker | undefined)[]) {
  return items.flatMap((after, i) =>
    providerOutcomes({ before: { ...(items[i - 1] ?? {}) }, after: after && { ...after } }, CONTEXT),
  );
}

describe('a breaker', () => {
  const down = opened({ id, error_type: 'SERVER_OVERLOAD' }, undefined, context(0));
  const probed = probing(down, 65_000, context(30_000));
  const held = { ...probed, lines: { ...probed.lines, express: { ...probed.lines.express, slots: 7 } } };
  const failed = reopened(probed, 'NETWORK_TIMEOUT', context(40_000));
  const back = draining(failed, context(90_000));

  it('tells that its provider is down and up, once each, whatever it holds and however often it is probed', () => {
    const told = toldOf(down, probed, held, failed, back, closed(back));
    expect(told.map(({ kind, detail }) => ({ kind, ...detail }))).toEqual([
      expect.objectContaining({
        kind: 'Provider Down',
        provider: id,
        channel: 'webhook',
        at: iso(0),
        status: 'open',
        error_type: 'SERVER_OVERLOAD',
      }),
      expect.objectContaining({ kind: 'Provider Up', provider: id, status: 'draining', at: iso(90_000) }),
    ]);
  });

  it('tells of a second fall anew', () => {
    const fallen = reopened(back, 'SERVER_OVERLOAD', context(95_000));
    const told = toldOf(down, back, fallen, draining(fallen, context(200_000)));
    expect(told.map(({ kind }) => kind)).toEqual(['Provider Down', 'Provider Up', 'Provider Down', 'Provider Up']);
    expect(new Set(told.map(({ detail }) => detail.event_id)).size).toBe(4);
    expect(told[2]?.detail.at).toBe(iso(95_000));
  });

  it('that expires while it is open leaves its provider up', () => {
    expect(toldOf(down, undefined).map(({ kind }) => kind)).toEqual(['Provider Down', 'Provider Up']);
    expect(toldOf(down, back, undefined).map(({ kind }) => kind)).toEqual(['Provider Down', 'Provider Up']);
  });

  it('that was down for days tells it with what waits, once for each note of the monitor', () => {
    const noted = (days: number) => ({ ...failed, noted: { since: failed.down_since ?? '', days, waiting: 12 } });
    const told = toldOf(failed, noted(1), { ...noted(1), version: 9 }, noted(3));
    expect(told.map(({ detail }) => detail.counts)).toEqual([
      undefined,
      { days: 1, waiting: 12 },
      { days: 3, waiting: 12 },
    ]);
    expect(new Set(told.map(({ detail }) => detail.event_id)).size).toBe(3);
    // The note of an outage that is over stays in the item.
    expect(toldOf({ ...noted(1), state: 'draining' }, { ...noted(1), down_since: iso(1) })).toHaveLength(1);
  });
});

it('an email tells each end with its counts, and nothing while it ends no more', () => {
  const email = { email_id: 'e1', tenant_id: 't', newsletter_id: 'n', status: 'submitting', part: 'row' };
  const end = (status: string, ms: number) => ({
    ...email,
    status,
    updated_at: iso(ms),
    ended_counts: { recipients: 3, submitted: 3 },
  });
  const history = [
    email,
    end('failed', 1),
    end('failed', 1),
    email,
    end('submitted', 9),
    { ...end('submitted', 9), version: 7 },
  ];
  const told = history.flatMap((after, i) => emailOutcomes({ before: history[i - 1], after }, CONTEXT));
  expect(told.map(({ detail: { event_id: _, ...detail } }) => detail)).toEqual(
    [['failed', 1] as const, ['submitted', 9] as const].map(([status, ms]) => ({
      version: 1,
      at: iso(ms),
      tenant_id: 't',
      newsletter_id: 'n',
      email_id: 'e1',
      status,
      counts: { recipients: 3, submitted: 3 },
    })),
  );
});

describe('the facts of an address', () => {
  const facts = { tenant_id: 't', 'unsubscribed#weekly': iso(0) };
  const suppressed = { reason: 'bounced', at: iso(5) };

  it('tell what is new, and not what was lifted', () => {
    expect(addressChanges({ after: facts }, CONTEXT)).toEqual([
      { kind: 'Member Unsubscribed', at: iso(0), newsletter_id: 'weekly' },
    ]);
    expect(addressChanges({ before: facts, after: { ...facts, suppressed } }, CONTEXT)).toEqual([
      { kind: 'Member Suppressed', at: iso(5), status: 'bounced' },
    ]);
    expect(addressChanges({ before: facts, after: { tenant_id: 't' } }, CONTEXT)).toEqual([]);
  });

  it('are told of each member, and the same when a member takes them to another address', () => {
    const [change] = addressChanges({ after: facts }, CONTEXT);
    if (change === undefined) throw new Error('nothing told');
    const told = (...member_ids: string[]) => memberOutcomes(change, { tenant_id: 't', member_ids }, CONTEXT);
    expect(told()).toEqual([]);
    expect(told('m1', 'm2').map(({ detail }) => detail.member_id)).toEqual(['m1', 'm2']);
    expect(told('m1')).toEqual([told('m1', 'm2')[0]]);
  });
});
