import type { Feedback } from '../../../src/core/delivery-events/delivery-event.ts';
import { PRIORITIES } from '../../../src/core/model/channels.ts';
import { ERROR_TYPES, type ProviderErrorType } from '../../../src/core/model/error-types.ts';
import type { Stored } from '../audit/memory.ts';
import { createRandom, type Draw } from '../engine/virtual-time.ts';
import { follow } from '../explore/explorer.ts';
import { Troupe } from '../world/actor.ts';
import { EDITS, type Edit, type Given, type Scope } from '../world/state.ts';
import { type Choice, World } from '../world/world.ts';

/** A history that was drawn, one line a step. */
export interface RandomHistory {
  readonly scope: Scope;
  readonly story: readonly string[];
  readonly violations: readonly string[];
  readonly rows: readonly Stored[];
  /** The kinds of outcomes that came from it. */
  readonly told: readonly string[];
}

/** What a run may have of: each is on in half of the runs, so that a run has few kinds, and many of each (swarm). */
const FAULTS = [
  ...['stale', 'refused', 'unanswered', 'repeated', 'dies before', 'dies during', 'again', 'slow', 'breakdown'],
  ...['outages', 'losses'],
];
const MOST_STEPS = 400;
/** Of the steps that could be a fault. */
const FAULT_SHARES = [0.01, 0.03, 0.1] as const;

const OURS: readonly string[] = ['MAX_RETRIES', 'EXPIRED', 'CANCELLED'];
const REFUSALS = ERROR_TYPES.filter((type): type is ProviderErrorType => !OURS.includes(type));

const BOUNCES: readonly Feedback[] = (['INVALID_RECIPIENT', 'UNKNOWN', 'FORMAT_ERROR'] as const).flatMap(
  (error_type) => {
    const answer = { error_type, message: 'bounced' };
    return [{ kind: 'failed', answer, final: true } as const, { kind: 'failed', answer } as const];
  },
);
const FEEDBACKS: readonly Feedback[] = [
  { kind: 'delivered' },
  { kind: 'opened' },
  { kind: 'complained' },
  { kind: 'unclear', message: 'out of office' },
  ...BOUNCES,
];

/** What ends a notification at once, what is left to a worker, and what is retried. */
const FAILED = ['INVALID_RECIPIENT', 'AUTH_FAILED', 'NETWORK_TIMEOUT'] as const;

/** As far as the clocks of AWS's instances may be from the time, in milliseconds. */
const CLOCKS = [-2_500, 0, 2_500] as const;

const ALL_EDITS = Object.keys(EDITS) as Edit[];

const BREAKDOWNS = ['records. refuses every call', 'breakers. answers no call'] as const;

/** A row that its own columns end is judged by them again, and its letter may be gone by then: no limit is spoiled. */
const RESTORED = {
  backups: 1,
  restorations: 1,
  intrusions: 0,
  forgeries: 0,
} as const;

/**
 * @param intruders rows that somebody may put into the work index
 * @param options.restored the log is lost once, and restored to some time before
 */
export async function drawHistory(
  seed: number,
  intruders: readonly Stored[] = [],
  { restored = false } = {},
): Promise<RandomHistory> {
  const draw = createRandom(seed, 'history');
  // Drawn apart, so that the seeds of before have the worlds of before.
  const erasures = createRandom(seed, 'erasures')() < 0.2 ? 1 : 0;
  const corrections = createRandom(seed, 'corrections')() < 0.4 ? 2 : 0;
  const drawn = drawScope(createRandom(seed, 'scope'), intruders);
  const forced = drawForce(createRandom(seed, 'force'), drawn);
  const edited = drawn.edited?.filter((how) => how !== 'limit');
  const lost = restored && { ...RESTORED, cancels: 2, drops: 1, ...(edited && { edited }) };
  const scope = { ...drawn, erasures, corrections, ...forced, ...lost };
  const kinds = new Set<string>(FAULTS.filter(() => draw() < 0.5));
  const share = pick(draw, FAULT_SHARES);
  const world = new World(scope, new Troupe({ remember: false }));
  const story: string[] = [];
  for (const most = Math.ceil(draw() ** 2 * MOST_STEPS); story.length < most && world.violations.length === 0; ) {
    const choice = drawChoice(draw, world.choices(), kinds, share);
    if (choice === undefined) break;
    story.push(choice.label);
    await world.step(choice);
  }
  await world.quiet(() => false);
  return { scope, story, violations: world.violations, rows: world.rows, told: world.told };
}

function drawChoice(draw: Draw, choices: readonly Choice[], kinds: ReadonlySet<string>, share: number) {
  const faults = choices.filter(({ faults, kind }) => faults > 0 && kinds.has(kind));
  const free = choices.filter(({ faults }) => faults === 0);
  if (faults.length > 0 && draw() < share) return pick(draw, faults);
  // What is under way goes on more often than something begins: else nothing would come to its end.
  const under = free.filter(({ kind }) => kind === 'ok' || kind === 'late' || kind === 'workers');
  return pick(draw, under.length > 0 && draw() < 0.8 ? under : free);
}

function drawScope(draw: Draw, intruders: readonly Stored[]): Scope {
  const some = <T>(most: number, make: () => T): T[] => Array.from({ length: Math.floor(draw() * (most + 1)) }, make);
  const half = (): boolean => draw() < 0.5;
  const gathering = half();
  const spoils = half();
  const given = [drawGiven(draw), ...some(4, () => drawGiven(draw))];
  return {
    given,
    faults: Number.POSITIVE_INFINITY,
    ticks: true,
    messages: 1,
    workers: 40,
    batch: half() ? 10 : 1,
    sweeps: 6,
    redrives: 2,
    requests: half() ? 3 : 0,
    outages: 3,
    losses: 3,
    retries: half() ? 1 : 0,
    cancels: draw() < 0.2 ? 1 : 0,
    deletions: draw() < 0.2 ? 1 : 0,
    ...(half() && { lanes: { seen: ['email', 'slack'], least: 2, interval_ms: 3_600_000 } }),
    ...(half() && { indexings: 20, edits: half() ? 2 : 0, ...(spoils && { edited: ALL_EDITS }) }),
    ...(half() && { feedbacks: FEEDBACKS, reports: 6, tells: 10 }),
    ...(half() && { breakers: true as const }),
    ...(gathering && { gathering }),
    ...(half() && { instances: 'kept' as const }),
    ...(draw() < 0.3 && { pacing: half() ? ('account' as const) : ('receiver' as const), postpones: 3 }),
    sweepers: [{}, { force_retry: true }, { ahead: true }, { express_minutes: 5 }, { dry_run: true }],
    stale: half(),
    drops: draw() < 0.2 ? 1 : 0,
    forgeries: draw() < 0.2 ? 2 : 0,
    ...(half() && { clocks: CLOCKS }),
    // Gathered records hang together, in one call; here they are calls of their own.
    breakdowns: [...(gathering ? [] : (['records. answers no call'] as const)), ...BREAKDOWNS],
    ...(half() && { intruders: intruders.filter(() => draw() < 3 / intruders.length), intrusions: 2 }),
    ...(draw() < 0.3 && { failures: 3, failed: FAILED }),
    // What its writer has spoilt, verify names until the indexer has judged it.
    verifications: spoils ? 0 : 3,
  };
}

/** What asks for many at once, of two tenants that share an integration, mostly where a provider's allowance bounds it. */
function drawForce(draw: Draw, { given = [], pacing }: Scope): Partial<Scope> {
  if (draw() >= 0.3) return {};
  const tenants = given.map((one) => (draw() < 0.5 ? one : { ...one, tenant: 'tenant-2' }));
  const paced = pacing === undefined && draw() < 0.7;
  return {
    given: tenants,
    bulks: 2,
    wishes: 1,
    ...(paced && { pacing: draw() < 0.5 ? ('account' as const) : ('receiver' as const), postpones: 3 }),
  };
}

function drawGiven(draw: Draw): Given {
  const refusal = () => {
    const error_type = pick(draw, REFUSALS);
    const wait = draw() < 0.3 ? { retry_after_ms: Math.floor(draw() * 2_400_000) } : {};
    return { ok: false as const, error_type, message: 'refused', ...wait };
  };
  const script = Array.from({ length: Math.floor(draw() ** 2 * 6) }, refusal);
  return { priority: pick(draw, PRIORITIES), script, fallback: draw() < 0.3, poison: draw() < 0.05 };
}

const pick = <T>(draw: Draw, all: readonly T[]): T => all[Math.floor(draw() * all.length)] as T;

/**
 * Leaves out of a story what its violation does not need: halves first, then less and less.
 * @returns the steps that are left
 */
export async function shrink({ scope, story, violations }: RandomHistory): Promise<readonly string[]> {
  const [violation] = violations;
  const stillFails = async (lines: readonly string[]) => {
    const followed = await follow(scope, lines);
    return followed.violations.includes(violation ?? '') ? followed.taken : undefined;
  };
  let shortest = (await stillFails(story)) ?? story;
  for (let size = Math.ceil(shortest.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < shortest.length; ) {
      const shorter = await stillFails([...shortest.slice(0, at), ...shortest.slice(at + size)]);
      if (shorter !== undefined && shorter.length < shortest.length) shortest = shorter;
      else at += size;
    }
  }
  return shortest;
}
