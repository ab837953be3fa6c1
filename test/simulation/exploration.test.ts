import { describe, expect, it } from 'vitest';
import { follow, fromStates, reexecute } from '../../simulation/explore/explorer.ts';
import { SCOPES, scopeOf } from '../../simulation/explore/scopes.ts';

const SECONDS = 120;
const everyday = (name: string) => scopeOf(name, SCOPES[name]?.everyday ?? 1);

/** Their redrives are mended first. */
const OPEN = ['dead', 'dead-swept', 'forced', 'redriven-paced'];

describe('the small worlds, most of them with one fault anywhere', () => {
  it.each(Object.keys(SCOPES).filter((name) => !OPEN.includes(name)))(
    '%s: every history keeps the promises',
    async (name) => {
      const { exhausted, violations, states } = await fromStates(everyday(name), { seconds: SECONDS });
      expect(Object.fromEntries(violations)).toEqual({});
      expect(exhausted).toBe(true);
      expect(states).toBeGreaterThan(50);
    },
  );
});

describe('the two engines', () => {
  it.each([
    ['one', 1],
    ['retried', 1],
    ['dead', 1],
    ['delivered', 0],
    ['cancelled', 0],
  ])('reach as many states of %s with %i faults', async (name, faults) => {
    const [saved, again] = [
      await fromStates(scopeOf(name, faults), { seconds: SECONDS }),
      await reexecute(scopeOf(name, faults), { seconds: SECONDS }),
    ];
    expect(again).toMatchObject({ states: saved.states, exhausted: true, violations: saved.violations });
    expect(saved.exhausted).toBe(true);
  });
});

describe('a story', () => {
  const story = [
    'a worker receives n1/sweep-1/1',
    'worker of n1/sweep-1/1 claims n1',
    'worker of n1/sweep-1/1 dies: it no longer reads n1',
    'worker of n1/sweep-1/1 reads the content of n1',
    'worker of n1/sweep-1/1 sends attempt 1 of n1: no answer, it may be applied later',
  ];

  it('takes the steps that there are, and goes on to the end', async () => {
    const { taken, violations } = await follow(scopeOf('one', 1), story);
    expect(taken).toEqual(story.filter((_, i) => i !== 2));
    expect(violations).toEqual([]);
  });
});
