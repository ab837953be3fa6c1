import type { Stored } from '../audit/memory.ts';
import type { Call, Troupe } from './actor.ts';
import { Deeds } from './deeds.ts';
import {
  type EndingTerms,
  endingsOf,
  isFault,
  isInvisible,
  isSend,
  kindOf,
  labelOf,
  pauseEnd,
  wordsOf,
} from './endings.ts';
import { Ground } from './ground.ts';
import { calm, firstDeadline, nextTime } from './quiet.ts';
import { isLostLater, restorations } from './restorations.ts';
import { type Actor, BULK, EDITS, INFO, isIdle, LIMITS, type Limit, NOTHING, type Saved, type Scope } from './state.ts';
import { type Add, type Begin, edit, forge, give, put, remove, whims } from './writers.ts';

/** Something that may happen next. */
export interface Choice {
  /** In words; no two choices of a state have the same. */
  readonly label: string;
  /** What it costs of the faults that are left. */
  readonly faults: number;
  /** What kind of fault it is, or of beginning. */
  readonly kind: string;
  readonly run: () => unknown;
}

const HOUR = 3_600_000;
/** To the end of a history without faults. */
const MOST_STEPS = 20_000;
const ALWAYS = { workers: 1, tells: 1, indexings: 1 };
/** What does not wait for time to pass. */
const TIMELESS: readonly Limit[] = [
  ...(['redrives', 'postpones', 'reports', 'outages', 'losses', 'forgeries', 'drops'] as const),
  ...(['backups', 'restorations'] as const),
];

/** A small world on the deployed code: all that may happen next, and its taking place. */
export class World {
  readonly #troupe: Troupe;
  readonly #ground: Ground;
  readonly #deeds: Deeds;

  constructor(scope: Scope, troupe: Troupe) {
    this.#troupe = troupe;
    const left = Object.fromEntries(LIMITS.map((limit) => [limit, scope[limit] ?? 0]));
    this.#ground = new Ground(scope, { ...NOTHING, faults: scope.faults, left });
    this.#deeds = new Deeds(this.#ground, troupe);
    for (const [log_id, given] of this.#ground.given) give(this.#ground, log_id, given);
  }

  get faults(): number {
    return this.#ground.state.faults;
  }
  get violations(): readonly string[] {
    return this.#ground.state.violations;
  }

  get rows(): readonly Stored[] {
    return this.#ground.rows();
  }

  get told(): readonly string[] {
    return this.#ground.state.consumer.kinds;
  }

  key(): string {
    return this.#ground.key(this.#troupe.numbers);
  }

  save(): Saved {
    return this.#ground.save();
  }

  restore(saved: Saved): void {
    this.#ground.restore(saved);
  }

  async step({ faults, run }: Choice): Promise<void> {
    const ground = this.#ground;
    ground.set({ faults: ground.state.faults - faults });
    await run();
    await this.#deeds.comeDue();
  }

  choices(): Choice[] {
    const { actors, late, faults } = this.#ground.state;
    const all: Choice[] = [];
    const add: Add = (kind, label, run, cost = 0) => cost <= faults && all.push({ kind, label, faults: cost, run });
    const pending = actors.flatMap((actor) => actor.moment.calls.map((call) => ({ actor, call })));
    const waiting = pending.filter(({ actor, call }) => this.#isWaiting(actor, call));
    const invisible = waiting.find(({ call }) => isInvisible(call));
    for (const { actor, call } of invisible ? [invisible] : waiting) this.#endings(actor, call, add);
    if (invisible) return all;
    for (const one of late) add('late', `late: ${one.by} ${wordsOf(one.call)}`, () => this.#deeds.applyLate(one));
    if (this.#ground.state.lost !== undefined) {
      if (waiting.length === 0) add('ok', 'an operator restores what is lost', () => this.#deeds.restore());
      return all;
    }
    this.#beginnings(add);
    this.#breakdowns(add);
    this.#passing(waiting.length > 0, add);
    return all;
  }

  /** Goes on without faults until nothing is left to do, then checks. @param isKnown whether a state was here before */
  async quiet(isKnown: (key: string) => boolean): Promise<void> {
    const ground = this.#ground;
    calm(ground);
    for (let steps = 0, sweep_at = ground.state.now + HOUR; this.violations.length === 0; steps++) {
      if (steps > MOST_STEPS) ground.violated('1: it never becomes quiet');
      ground.set({ left: ALWAYS });
      const [first] = this.choices();
      if (isKnown(`${this.key()} ${sweep_at}`)) return;
      const next = nextTime(ground, sweep_at);
      if (first && !first.label.startsWith('time')) await this.step(first);
      else if (next !== undefined) await this.#deeds.pass(next);
      else if (!(await this.#deeds.redriveAll())) return;
      if (ground.state.now < sweep_at) continue;
      await this.#deeds.sweep(ground.scope.sweepers?.[0] ?? INFO);
      sweep_at += HOUR;
    }
  }

  #endings(actor: Actor, call: Call, add: Add): void {
    const { left } = this.#ground.state;
    const terms = {
      first: call === actor.moment.calls[0],
      postpones: (left['postpones'] ?? 0) > 0,
      stale: this.#ground.scope.stale ?? false,
      hangs: this.#ground.scope.hangs?.some((port) => call.port.startsWith(port)) ?? false,
      broken: this.#brokenAs(call),
      kills: isSend(call) && this.#ground.given.get(String(call.args[0]))?.poison === true,
    };
    for (const ending of endingsOf(call, terms)) {
      const free = !isFault(ending) || ending === terms.broken || terms.kills;
      const run = () => this.#deeds.end(actor, call, ending);
      add(free ? 'ok' : ending, labelOf(actor.name, call, ending), run, free ? 0 : 1);
    }
  }

  #brokenAs({ port }: Call): EndingTerms['broken'] {
    const broken = this.#ground.state.broken.find((one) => port.startsWith(one.split(' ')[0] ?? ''));
    if (broken === undefined) return undefined;
    return broken.endsWith('refuses every call') ? 'refused' : 'hangs';
  }

  /** Services that fail every call, and then work again. */
  #breakdowns(add: Add): void {
    const { scope, state } = this.#ground;
    for (const one of scope.breakdowns ?? []) {
      const others = state.broken.filter((other) => other !== one);
      const change = (broken: typeof others) => () => this.#ground.set({ broken });
      if (others.length < state.broken.length) add('repair', `no more: ${one}`, change(others));
      else add('breakdown', one, change([...others, one]), 1);
    }
    if (state.down) add('repair', 'the provider is back', () => this.#ground.set({ down: false }));
  }

  /** What producers, operators, schedules, queues and events may do. */
  #beginnings(add: Add): void {
    const { state, scope } = this.#ground;
    const [ground, deeds] = [this.#ground, this.#deeds];
    const begin = (limit: Limit, label: string, run: () => unknown, faults = 0) => {
      if ((state.left[limit] ?? 0) > 0 && !isLostLater(state, limit))
        add(limit, label, () => deeds.use(limit, run), faults);
    };
    for (const batch of ground.batches())
      begin('workers', `a worker receives ${batch.map(({ id }) => id).join(' and ')}`, () => deeds.receive(batch));
    for (const one of scope.sweepers ?? [INFO])
      begin('sweeps', `a sweep begins${scope.sweepers ? `: ${JSON.stringify(one)}` : ''}`, () => deeds.sweep(one));
    begin('forces', 'a forced sweep begins', () => deeds.sweep({ ...INFO, force_retry: true }));
    for (const log_id of ground.given.keys()) {
      begin('cancels', `an operator cancels ${log_id}`, () => deeds.operate('cancel', log_id));
      begin('drops', `an operator gives ${log_id} up`, () => deeds.operate('give_up', log_id));
      begin('forgeries', `somebody queues ${log_id} for another tenant`, () => forge(ground, log_id));
      begin('erasures', `an operator erases ${log_id}`, () => deeds.operate('erase', log_id));
      begin('corrections', `an operator corrects ${log_id}`, () => deeds.operate('correct', log_id));
      begin('retries', `an operator retries ${log_id}`, () => deeds.operate('retry', log_id));
      begin('wishes', `a user retries ${log_id}`, () => deeds.operate('wish', log_id));
      for (const how of scope.edited ?? (['recipient'] as const))
        begin('edits', `${log_id}'s writer ${EDITS[how]}`, () => edit(ground, log_id, how));
      for (const type of scope.failed ?? [])
        begin('failures', `${log_id}'s producer reports a failure: ${type}`, () => deeds.request(log_id, type));
      begin('deletions', `${log_id}'s writer deletes it`, () => remove(ground, log_id));
    }
    for (const kind of scope.bulk ?? BULK)
      begin('bulks', `an operator begins a bulk ${kind}`, () => deeds.operate('bulk', kind));
    begin('verifications', 'an operator verifies', () => deeds.operate('verify', 'all'));
    begin('requests', 'a producer hands over h1', () => deeds.request('h1'));
    for (const row of scope.intruders ?? [])
      begin('intrusions', `somebody puts ${row['log_id']} into the index`, () => put(ground, row));
    if (state.stream.length > 0 && !this.#isIndexed())
      begin('indexings', 'the indexer is called', () => deeds.index(state.stream));
    if (state.letters.length > 0) begin('redrives', 'an operator redrives all letters', () => deeds.redrive());
    if (!state.down) begin('outages', 'the provider is down', () => ground.set({ down: true }), 1);
    this.#tellings(begin);
    whims(ground, add, begin);
    restorations(ground, begin);
  }

  /** What the provider reports, once or again, of what it has accepted. */
  #tellings(begin: Begin): void {
    const { events, memory, now, left } = this.#ground.state;
    for (const { event, at } of events) {
      const label = `the event of attempt ${event.attempt} of ${event.log_id} comes`;
      if (at !== null && at <= now) begin('tells', `${label}${kindOf(event)}`, () => this.#deeds.tell(event));
    }
    const { feedbacks = [] } = this.#ground.scope;
    if ((left['reports'] ?? 0) <= 0) return;
    for (const [log_id, accepted] of Object.entries(memory.accepted))
      for (const { attempt } of accepted)
        for (const feedback of feedbacks) {
          const provider_message_id = `p${attempt}`;
          const event = { log_id, attempt, at: new Date(now).toISOString(), provider_message_id, feedback };
          const label = `the provider reports attempt ${attempt} of ${log_id}${kindOf(event)}`;
          begin('reports', label, () => this.#deeds.tell(event));
        }
  }

  /** @param busy whether an actor waits for something else than time */
  #passing(busy: boolean, add: Add): void {
    const { now, left, late, actors } = this.#ground.state;
    const next = nextTime(this.#ground);
    const isNeeded = LIMITS.some((limit) => (left[limit] ?? 0) > 0 && !TIMELESS.includes(limit));
    const more = isNeeded || (!busy && actors.some((actor) => !isIdle(actor)));
    if (!more || next === undefined || late.length > 0 || (busy && next > firstDeadline(this.#ground))) return;
    const label = `time passes: ${(next - now) / 1000} s${busy ? ', while actors wait' : ''}`;
    add(busy ? 'slow' : 'time', label, () => this.#deeds.passTo(next, { busy }), busy ? 1 : 0);
  }

  /** One invocation at a time reads the stream. */
  #isIndexed(): boolean {
    return this.#ground.state.actors.some(({ name }) => name.startsWith('indexer'));
  }

  #isWaiting(actor: Actor, call: Call): boolean {
    const { hung, now } = this.#ground.state;
    const hangs = hung.some(({ by, id }) => by === actor.name && id === call.id);
    return !hangs && !isIdle(actor) && (pauseEnd(call, this.#ground.answered(actor)) ?? now) <= now;
  }
}
