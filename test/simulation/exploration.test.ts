import { describe, expect, it } from 'vitest';
import { follow, fromStates, reexecute } from '../../tools/simulation/explore/explorer.ts';
import { SCOPES, scopeOf } from '../../tools/simulation/explore/scopes.ts';
import { ONE, type Scope } from '../../tools/simulation/world/state.ts';

const SECONDS = 120;
/** With a fault each takes longer than a second; `.ci/run` and the nightly workflow explore them with one. */
const WITHOUT_FAULTS = new Set([
  'swept',
  'copies',
  'delivered',
  'dead-apart',
  'unrecorded',
  'channel-removed',
  'pair',
  'bounced',
  'contradicted',
  'cancelled-told',
  'reported',
  'retried-now',
  'moved',
  'swept-stale',
  'forced',
  'wished',
  'redriven-paced',
  'gathered',
  'failed-over-deleted',
  'failed-over-erased',
  'put-anew',
  'breaker',
  'breaker-kept',
  'corrected',
  'corrected-bounced',
  'corrected-dead',
  'corrected-refused',
  'operator-corrects',
  'operator-corrects-dead',
  'operator-corrects-all',
  'operator-and-writer-correct',
  'erased',
  'erased-dead',
  'erased-foreign',
  'handed-over',
]);
/** Without a fault, too: `.ci/run` alone explores them. */
const FOR_CI = new Set([
  'poisonous',
  'failed-over-anew',
  'held-lane',
  'bulk-redriven',
  'spoiled',
  'erased-retried',
  'operator-and-writer-correct',
]);
const everyday = (name: string) => scopeOf(name, WITHOUT_FAULTS.has(name) ? 0 : 1);

it.each(Object.keys(SCOPES).filter((name) => !FOR_CI.has(name)))(
  'the small worlds, some of them with one fault anywhere, %s: every history keeps the promises',
  async (name) => {
    const { exhausted, violations, states } = await fromStates(everyday(name), { seconds: SECONDS });
    expect(Object.fromEntries(violations)).toEqual({});
    expect(exhausted).toBe(true);
    expect(states).toBeGreaterThan(50);
  },
  SECONDS * 1000,
);

it.each([
  ['one', 1],
  ['dead', 1],
  ['delivered', 0],
  ['cancelled', 0],
])('the two engines reach as many states of %s with %i faults', async (name, faults) => {
  const [saved, again] = [
    await fromStates(scopeOf(name, faults), { seconds: SECONDS }),
    await reexecute(scopeOf(name, faults), { seconds: SECONDS }),
  ];
  expect(again).toMatchObject({ states: saved.states, exhausted: true, violations: saved.violations });
  expect(saved.exhausted).toBe(true);
});

describe('stories that broke a promise once', () => {
  const at = (number: number) => `n1/sweep-1/${number}`;
  const postponed = (id: string) => [
    `a worker receives ${id}`,
    `worker of ${id} asks the budget: nothing now`,
    `worker of ${id} queues n1 for in 30 s`,
    `worker of ${id} ends; deleted: ${id}`,
  ];
  /** SQS moves the message while a worker has it, an operator sends it again, and something else happens before it dies. */
  const redrivenEarly = (id: string, meanwhile: readonly string[]) => [
    `a worker receives ${id}`,
    ...['asks the budget', 'claims n1', 'reads the content of n1'].map((deed) => `worker of ${id} ${deed}`),
    `SQS shows ${id} again`,
    `a worker receives ${id}`,
    ...['reads n1', `gives back ${id} for in 65 s`].map((deed) => `worker of ${id} (receive 2) ${deed}`),
    `SQS shows ${id} again`,
    'an operator redrives all letters',
    ...meanwhile,
    `worker of ${id} sends attempt 1 of n1`,
    `worker of ${id} writes, if there is none, the record of attempt 1 of n1: FAILED`,
  ];
  const late = (id: string) => [
    `a worker receives ${id}`,
    ...['asks the budget', 'claims n1', `gives back ${id} for in 5 s`].map((deed) => `worker of ${id} ${deed}`),
    'time passes: 5 s, while actors wait',
  ];
  const twice = 'worker of n1/sweep-1/1';
  const event = 'event of attempt 1 of n1';
  const sent = [
    'a worker receives n1/sweep-1/1',
    ...['claims n1', 'reads the content of n1', 'sends attempt 1 of n1'].map((deed) => `${twice} ${deed}`),
  ];
  const recorded = `${twice} writes, if there is none, the record of attempt 1 of n1:`;
  it.each([
    [
      'dead',
      'a message that SQS delivers twice is not deleted while its notification dies by the other delivery',
      [
        ...sent,
        `${recorded} FAILED`,
        'SQS shows n1/sweep-1/1 again',
        'a worker receives n1/sweep-1/1',
        `${twice} (receive 2) reads n1`,
        `${twice} settles n1 as FAILED for 10:30:00`,
      ],
    ],
    [
      'redriven-paced',
      'a message that is copied and deleted while its notification dies by another delivery leaves its letter in the copy',
      [
        'a worker receives n1/sweep-1/1',
        `${twice} asks the budget: nothing now`,
        `${twice} queues n1 for in 30 s`,
        'SQS shows n1/sweep-1/1 again',
        'a worker receives n1/sweep-1/1',
        `${twice} ends; deleted: n1/sweep-1/1`,
        `${twice} (receive 2) reads n1`,
        `${twice} (receive 2) changes n1 as SENDING`,
        `${twice} (receive 2) asks the budget`,
        `${twice} (receive 2) reads the content of n1`,
        `${twice} (receive 2) sends attempt 1 of n1`,
        `${twice} (receive 2) writes, if there is none, the record of attempt 1 of n1: FAILED`,
        `${twice} (receive 2) settles n1 as FAILED for 10:30:00`,
      ],
    ],
    [
      'contradicted',
      'a record that the event of a bounce writes late does not outlive the complaint that came after it',
      [
        ...sent,
        `${recorded} SUCCESS`,
        `${twice} settles n1 as SUCCESS`,
        'the provider reports attempt 1 of n1: failed INVALID_RECIPIENT',
        `${event} reads n1`,
        `${event} looks for the record of attempt 1 of n1`,
        `${event} queues n1 for in 1 s`,
        `${event} changes n1 as RETRY for 10:30:00`,
        `${event} dies while it replaces the record of attempt 1 of n1: FAILED`,
        'the provider reports attempt 1 of n1: complained',
        `${event} (time 2) reads n1`,
        `${event} (time 2) looks for the record of attempt 1 of n1`,
        `${event} (time 2) changes n1 as SUCCESS`,
        `${event} (time 2) replaces the record of attempt 1 of n1: SUCCESS`,
        `late: ${event} replaces the record of attempt 1 of n1: FAILED`,
      ],
    ],
    [
      'erased-dead',
      'a settlement that the client repeats keeps its letter, though the notification is erased between the two',
      [
        ...sent,
        `${recorded} FAILED`,
        `${twice} settles n1 as FAILED for 10:30:00: applied, and the client repeats it`,
        'an operator erases n1',
        'the erasure of n1 calls forgetRows.read',
        'the erasure of n1 calls forgetRows.change',
        `${twice} settles n1 as FAILED for 10:30:00`,
      ],
    ],
    [
      'dead-apart',
      'a letter that is redriven a second after a death by a fast clock is no straggler',
      [
        ...sent,
        `${recorded} FAILED`,
        `${twice} settles n1 as FAILED for 10:30:02`,
        `${twice} gives back n1/sweep-1/1 for in 0 s`,
        'a worker receives n1/sweep-1/1',
        `${twice} (receive 2) reads n1`,
        `${twice} (receive 2) gives back n1/sweep-1/1 for in 0 s`,
        'a worker receives n1/sweep-1/1',
        `${twice} (receive 3) reads n1`,
        `${twice} (receive 3) gives back n1/sweep-1/1 for in 0 s`,
        'an operator redrives all letters',
      ],
    ],
    [
      'moved',
      'a letter that is redriven before its death is no straggler',
      [...redrivenEarly(at(1), late(at(2))), `worker of ${at(1)} settles n1 as FAILED for 10:30:06`],
    ],
    [
      'moved',
      'nor is the copy of one',
      [
        ...redrivenEarly(at(1), [...postponed(at(2)), 'time passes: 30 s, while actors wait']),
        `worker of ${at(1)} settles n1 as FAILED for 10:30:31`,
      ],
    ],
    [
      'moved',
      'nor is one that is a copy',
      [
        ...[...postponed(at(1)), 'time passes: 30 s'],
        ...redrivenEarly(at(2), late(at(3))),
        `worker of ${at(2)} settles n1 as FAILED for 10:30:36`,
      ],
    ],
  ])('%s: %s', async (scope, _, story) => {
    const { taken, violations } = await follow(scopeOf(scope, 3), story);
    expect(taken).toEqual(story);
    expect(violations).toEqual([]);
  });
});

describe('a notification that goes on, on its fallback channel, while events contradict each other', () => {
  const worker = 'worker of n1/sweep-1';
  const event = (time: string, ...deeds: string[]) => deeds.map((deed) => `event of attempt 1 of n1${time} ${deed}`);
  const looks = ['reads n1', ...[1, 2].map((attempt) => `looks for the record of attempt ${attempt} of n1`)];
  const begins = (number: number) => [
    `a worker receives n1/sweep-1/${number}`,
    ...['claims n1', 'reads the content of n1', `sends attempt ${number} of n1`].map(
      (deed) => `${worker}/${number} ${deed}`,
    ),
    `${worker}/${number} writes, if there is none, the record of attempt ${number} of n1: FAILED`,
  ];
  const bothSent = [
    ...begins(1),
    ...['queues n1 for in 600 s', 'settles n1 as RETRY for 10:40:00', 'ends; deleted: n1/sweep-1/1'].map(
      (deed) => `${worker}/1 ${deed}`,
    ),
    ...['time passes: 600 s', ...begins(2)],
  ];
  const delivered = 'the provider reports attempt 1 of n1: delivered';
  const bounced = 'the provider reports attempt 1 of n1: failed INVALID_RECIPIENT';

  it.each([
    [
      'has a letter if the event that withdrew its successor is contradicted',
      [
        ...[...bothSent, `${worker}/2 reads n1`, `${worker}/2 calls successors.copyContent`],
        ...[`${worker}/2 calls successors.put`, `${worker}/2 queues n1-fallback for in 1 s`],
        ...[`${worker}/2 changes n1 as FAILED`, `${worker}/2 ends; deleted: n1/sweep-1/2`, delivered],
        ...event('', ...looks, 'reads n1-fallback', 'changes n1 as SUCCESS'),
        ...[bounced, ...event(' (time 2)', ...looks, 'queues n1 for in 1 s')],
      ],
    ],
    [
      'is not delivered by the event that is contradicted before the worker settles it',
      [
        ...[...bothSent, delivered, ...event('', ...looks, 'changes n1'), `${worker}/2 reads n1`],
        ...[bounced, ...event(' (time 2)', ...looks, 'changes n1'), `${worker}/2 changes n1 as SUCCESS`],
      ],
    ],
  ])('%s', async (_, story) => {
    const bounce = { answer: { error_type: 'INVALID_RECIPIENT', message: 'bounced' }, final: true } as const;
    const scope: Scope = {
      workers: 2,
      given: [{ ...ONE, script: ['uncertain', 'INVALID_RECIPIENT'], fallback: true }],
      feedbacks: [{ kind: 'delivered' }, { kind: 'failed', ...bounce }],
      reports: 2,
      faults: 0,
    };
    const { taken, violations } = await follow(scope, story);
    expect(taken).toEqual(story);
    expect(violations).toEqual([]);
  });
});

it('a row that ends again after the same attempt, for the same reason, is told anew', async () => {
  const [worker, cancellation] = ['worker of n1/sweep-1/1', 'the cancellation of n1'];
  const event = (time: string, status: string) => [
    ...['reads n1', 'looks for the record of attempt 1 of n1'].map((deed) => `event of attempt 1 of n1${time} ${deed}`),
    ...(status.startsWith('RETRY') ? [`event of attempt 1 of n1${time} queues n1 for in 1 s`] : []),
    `event of attempt 1 of n1${time} changes n1 as ${status}`,
  ];
  const story = [
    'a worker receives n1/sweep-1/1',
    ...['claims n1', 'reads the content of n1', 'sends attempt 1 of n1'].map((deed) => `${worker} ${deed}`),
    `${worker} writes, if there is none, the record of attempt 1 of n1: FAILED`,
    ...['queues n1 for in 600 s', 'settles n1 as RETRY for 10:40:00'].map((deed) => `${worker} ${deed}`),
    ...['an operator cancels n1', `${cancellation} reads n1`, `${cancellation} changes n1 as FAILED`],
    ...['the provider reports attempt 1 of n1: delivered', ...event('', 'SUCCESS')],
    'the provider reports attempt 1 of n1: failed INVALID_RECIPIENT',
    ...event(' (time 2)', 'RETRY for 10:30:00'),
    'an operator cancels n1',
    ...['reads n1', 'changes n1 as FAILED'].map((deed) => `${cancellation} (time 2) ${deed}`),
  ];
  const feedbacks: Scope['feedbacks'] = [
    { kind: 'delivered' },
    { kind: 'failed', answer: { error_type: 'INVALID_RECIPIENT', message: 'bounced' }, final: true },
  ];
  const given = [{ ...ONE, script: ['uncertain'] }] as const;
  const { taken, violations } = await follow(
    { workers: 1, cancels: 2, given, feedbacks, reports: 2, faults: 0 },
    story,
  );
  expect(taken).toEqual(story);
  expect(violations).toEqual([]);
});

it('a story takes the steps that there are, and goes on to the end', async () => {
  const story = [
    'a worker receives n1/sweep-1/1',
    'worker of n1/sweep-1/1 claims n1',
    'worker of n1/sweep-1/1 dies: it no longer reads n1',
    'worker of n1/sweep-1/1 reads the content of n1',
    'worker of n1/sweep-1/1 sends attempt 1 of n1: no answer, it may be applied later',
  ];
  const { taken, violations } = await follow(scopeOf('one', 1), story);
  expect(taken).toEqual(story.filter((_, i) => i !== 2));
  expect(violations).toEqual([]);
});
