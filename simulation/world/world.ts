import type { Call, Troupe } from './actor.ts';
import { Deeds } from './deeds.ts';
import { type EndingTerms, endingsOf, isFault, isInvisible, labelOf, pauseEnd, wordsOf } from './endings.ts';
import { Ground } from './ground.ts';
import { operator, sweeper } from './programs.ts';
import { LIMITS, type Limit, type Scope } from './scope.ts';
import { type Actor, isIdle, type Message, NOTHING, type Saved } from './state.ts';

/** Something that may happen next. */
export interface Choice {
  /** In words; no two choices of a state have the same. */
  readonly label: string;
  /** What it costs of the faults that are left. */
  readonly faults: number;
  readonly run: () => unknown;
}

type Add = (label: string, run: () => unknown, faults?: number) => void;

/** As deployed (lib/constructs/lanes). */
const MAX_RECEIVES = 5;
const HOUR = 3_600_000;
/** Workers that may work at the same time. */
const AT_ONCE = 2;
const ALWAYS = { workers: 1, tells: 1, indexings: 1 };

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
    for (let row = 1; row <= (scope.rows ?? 1); row++) this.#deeds.give(`n${row}`);
  }

  get faults(): number {
    return this.#ground.state.faults;
  }

  get violations(): readonly string[] {
    return this.#ground.state.violations;
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
    const { now, queue, letters } = ground.state;
    const most = ground.scope.receives ?? MAX_RECEIVES;
    const over = queue.filter(({ visible_at, receives }) => visible_at <= now && receives >= most);
    if (over.length === 0) return;
    ground.set({ queue: queue.filter((one) => !over.includes(one)), letters: [...letters, ...over] });
  }

  choices(): Choice[] {
    const { actors, late, faults } = this.#ground.state;
    const all: Choice[] = [];
    const add: Add = (label, run, cost = 0) => cost <= faults && all.push({ label, faults: cost, run });
    const pending = actors.flatMap((actor) => actor.moment.calls.map((call) => ({ actor, call })));
    const waiting = pending.filter(({ actor, call }) => this.#isWaiting(actor, call));
    const invisible = waiting.find(({ call }) => isInvisible(call));
    for (const { actor, call } of invisible ? [invisible] : waiting) this.#endings(actor, call, add);
    if (invisible) return all;
    for (const one of late) add(`late: ${one.by} ${wordsOf(one.call)}`, () => this.#deeds.applyLate(one));
    this.#beginnings(add);
    this.#silences(add);
    this.#passing(waiting.length > 0, add);
    return all;
  }

  /** Goes on without faults until nothing is left to do, then checks. @param isKnown whether a state was here before */
  async quiet(isKnown: (key: string) => boolean): Promise<void> {
    const ground = this.#ground;
    ground.set({ faults: 0, silent: [] });
    for (let steps = 0, sweep_at = ground.state.now + HOUR; this.violations.length === 0; steps++) {
      if (steps > 2_000) ground.violated('1: it never becomes quiet');
      ground.set({ left: ALWAYS });
      const [first] = this.choices();
      if (isKnown(`${this.key()} ${sweep_at}`)) return;
      const next = this.#deeds.nextTime(sweep_at);
      if (first && !first.label.startsWith('time')) await this.step(first);
      else if (next !== undefined) await this.step({ label: '', faults: 0, run: () => this.#deeds.passTo(next) });
      else if (!this.#deeds.redriveAll()) return;
      if (ground.state.now < sweep_at) continue;
      await this.#deeds.begin('sweep-8', sweeper('sweep-8'));
      sweep_at += HOUR;
    }
  }

  #endings(actor: Actor, call: Call, add: Add): void {
    const { left } = this.#ground.state;
    const terms = {
      first: call === actor.moment.calls[0],
      postpones: (left['postpones'] ?? 0) > 0,
      hangs: this.#hangs(call),
    };
    for (const ending of endingsOf(call, terms)) {
      const free = !isFault(ending) || (ending === 'hangs' && terms.hangs === 'always');
      add(labelOf(actor.name, call, ending), () => this.#deeds.end(actor, call, ending), free ? 0 : 1);
    }
  }

  #hangs({ port }: Call): EndingTerms['hangs'] {
    const { scope, state } = this.#ground;
    const isOf = (beginning: string) => port.startsWith(beginning);
    if (state.silent.some(isOf)) return 'always';
    return scope.hangs?.some(isOf) ? 'perhaps' : 'never';
  }

  /** Services that answer nobody, and then do again. */
  #silences(add: Add): void {
    const { scope, state } = this.#ground;
    for (const port of scope.silences ?? []) {
      const silent = state.silent.filter((other) => other !== port);
      if (silent.length < state.silent.length) add(`${port} answers again`, () => this.#ground.set({ silent }));
      else add(`${port} answers no more`, () => this.#ground.set({ silent: [...silent, port] }), 1);
    }
  }

  /** What producers, operators, schedules, queues and events may do. */
  #beginnings(add: Add): void {
    const { now, left, queue, letters, events, stream } = this.#ground.state;
    const begin = (limit: Limit, label: string, run: () => unknown) => {
      if ((left[limit] ?? 0) > 0) add(label, () => this.#deeds.use(limit, run));
    };
    for (const batch of this.#batches())
      begin('workers', `a worker receives ${batch.map(({ id }) => id).join(' and ')}`, () =>
        this.#deeds.receive(batch),
      );
    begin('sweeps', 'a sweep begins', () => this.#deeds.begin('sweep-9', sweeper('sweep-9')));
    begin('forces', 'a forced sweep begins', () =>
      this.#deeds.begin('manual-9', sweeper('manual-9', { force_retry: true })),
    );
    begin('cancels', 'an operator cancels n1', () => this.#deeds.begin('the cancellation', operator('cancel', 'n1')));
    begin('retries', 'an operator retries n1', () => this.#deeds.retry('n1'));
    begin('edits', "n1's writer corrects its recipient", () => this.#deeds.edit('n1'));
    begin('requests', 'a producer hands over h1', () => this.#deeds.request('h1'));
    if (stream.length > 0 && !this.#isIndexed())
      begin('indexings', 'the indexer is called', () => this.#deeds.index(stream));
    if (letters.length > 0) begin('redrives', 'an operator redrives all letters', () => this.#deeds.redrive());
    for (const { event, at } of events)
      if (at !== null && at <= now)
        begin('tells', `the event of attempt ${event.attempt} of ${event.log_id} comes`, () => this.#deeds.tell(event));
    if ((left['workers'] ?? 0) <= 0) return;
    for (const { id, visible_at, receives } of queue)
      if (receives > 0 && visible_at > now)
        add(`SQS shows ${id} again`, () => this.#ground.updateMessage(id, { visible_at: now }), 1);
  }

  /** @param busy whether an actor waits for something else than time */
  #passing(busy: boolean, add: Add): void {
    const { now, left, late, actors } = this.#ground.state;
    const next = this.#deeds.nextTime();
    const isNeeded = LIMITS.some((limit) => (left[limit] ?? 0) > 0 && limit !== 'redrives' && limit !== 'postpones');
    const more = isNeeded || (!busy && actors.some((actor) => !isIdle(actor)));
    if (!more || next === undefined || late.length > 0 || (busy && next > this.#deeds.firstDeadline())) return;
    const label = `time passes: ${(next - now) / 1000} s${busy ? ', while actors wait' : ''}`;
    add(label, () => this.#deeds.passTo(next, { busy }), busy ? 1 : 0);
  }

  /** One invocation at a time reads the stream. */
  #isIndexed(): boolean {
    return this.#ground.state.actors.some(({ name }) => name.startsWith('indexer'));
  }

  /** One message, or with batches all that can be received together. */
  #batches(): (readonly Message[])[] {
    const { actors, queue, now } = this.#ground.state;
    const working = actors.filter((actor) => actor.name.startsWith('worker') && !isIdle(actor));
    if (working.length >= AT_ONCE) return [];
    const visible = queue.filter(({ visible_at }) => visible_at <= now);
    const together = visible.slice(0, this.#ground.scope.batch ?? 1);
    return [...visible.map((one) => [one]), ...(together.length > 1 ? [together] : [])];
  }

  #isWaiting(actor: Actor, call: Call): boolean {
    const { hung, now } = this.#ground.state;
    const hangs = hung.some(({ by, id }) => by === actor.name && id === call.id);
    return !hangs && !isIdle(actor) && (pauseEnd(call, actor.moment.now) ?? now) <= now;
  }
}
