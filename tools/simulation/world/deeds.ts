import type { SweepEvent } from '../../../src/adapters/lambda/events.ts';
import type { DeliveryEvent } from '../../../src/core/delivery-events/delivery-event.ts';
import * as actors from '../audit/actor-promises.ts';
import * as allowances from '../audit/allowance-promises.ts';
import type { Stored } from '../audit/memory.ts';
import * as promises from '../audit/promises.ts';
import { type Call, Moment, type Outcome, type Program, type Troupe } from './actor.ts';
import { type Ending, INJECTED, inAnotherRound, limitOf, postponementOf, refusalOf, silenceOf } from './endings.ts';
import type { Ground } from './ground.ts';
import { COMMANDS, noted, operator, redriveOf, revived } from './operator-programs.ts';
import { indexer, producer, reporter, sweeper, teller } from './programs.ts';
import { isOwed, tellAt } from './provider.ts';
import { checkEnd } from './quiet.ts';
import { endRestoration, restorer } from './restorations.ts';
import {
  type Actor,
  deadlineOf,
  type Image,
  isIdle,
  type LateCall,
  type Limit,
  type Message,
  offsetOf,
  received,
} from './state.ts';
import { worker } from './worker.ts';

const CLOCKS_AGREE_MS = 6_000;
const VISIBILITY_MS = 360_000;
/** As deployed (lib/constructs/lanes). */
const MAX_RECEIVES = 5;

/** What happens when something takes its course: who begins, what a call is answered, how time passes. */
export class Deeds {
  readonly #troupe: Troupe;
  readonly #ground: Ground;

  constructor(ground: Ground, troupe: Troupe) {
    this.#ground = ground;
    this.#troupe = troupe;
  }

  index(images: readonly Image[]): Promise<void> {
    return this.begin(`indexer of image ${images.map(({ sequence }) => sequence).join(', ')}`, indexer(images), images);
  }

  /** @param failed what it reports of a send of its own */
  request(log_id: string, failed?: Parameters<typeof reporter>[2]): Promise<void> {
    const request = `request ${this.#ground.count(`requests of ${log_id}`)} for ${log_id}`;
    return this.begin(request, failed ? reporter(log_id, request, failed) : producer(log_id, request), { failed });
  }

  async begin(name: string, program: Program, args: object = {}, more: Partial<Actor> = {}): Promise<void> {
    const { now, actors } = this.#ground.state;
    const at = now + offsetOf(name, this.#ground.scope);
    const moment = await Moment.first(`${name} ${JSON.stringify(args)}`, program, at, this.#troupe);
    this.#ground.set({ actors: [...actors, { name, moment, begun: now, ...more }] });
  }

  async #answer(actor: Actor, { id, port, args }: Call, outcome: Outcome, more: Partial<Actor> = {}): Promise<void> {
    const ground = this.#ground;
    if (port === 'budget.reserve' && 'ok' in outcome)
      ground.set({ memory: allowances.granted(ground.state.memory, actor.name, args[0], outcome.ok) });
    const now = ground.state.now + offsetOf(actor.name, ground.scope);
    const moment = await actor.moment.after({ id, outcome, now });
    const others = ground.state.actors.filter(({ name }) => name !== actor.name);
    const { slow, pages = 0, ...rest } = actor;
    const read = port === 'index.page' ? { pages: pages + 1 } : { pages };
    const next = { ...rest, ...read, moment, ...more, ...(slow && more.begun === undefined && { slow }) };
    ground.set({ actors: moment.ended ? others : [...others, next] });
    const { fault } = moment;
    if (moment.ended)
      ground.set({ memory: promises.ceased(allowances.forfeited(ground.state.memory, actor.name), actor.name) });
    if (fault && !INJECTED.test(String(fault))) ground.violated(`an actor failed: ${(fault as Error).stack}`);
  }

  #die({ name: dead }: Actor): void {
    const { actors, hung, memory } = this.#ground.state;
    const left = { actors: actors.filter(({ name }) => name !== dead), hung: hung.filter(({ by }) => by !== dead) };
    this.#ground.set({ ...left, memory: promises.died(allowances.forfeited(memory, dead), dead) });
  }

  applyLate(late: LateCall): Promise<Outcome> {
    this.#ground.set({ late: this.#ground.state.late.filter((one) => one !== late) });
    return this.#ground.perform(late.by, late.call, true);
  }

  receive(messages: readonly Message[]): Promise<void> {
    const ground = this.#ground;
    const visible_at = ground.state.now + VISIBILITY_MS;
    const taken = messages.map((one) => ({ ...one, receives: one.receives + 1, visible_at }));
    for (const one of taken) ground.updateMessage(one.id, one);
    const batch = taken.map(received);
    const ids = taken.map(({ id, message: { log_id } }) => ({ id, log_id }));
    const letters = ids.filter(({ id, log_id }) => actors.isLetter(ground.tables.log.get(log_id), id));
    const audited = { sendable: ids.length - letters.length, letters };
    const idle = ground.state.actors.find(isIdle);
    const next = idle?.moment.calls[0];
    if (idle) ground.set({ memory: allowances.forfeited(ground.state.memory, idle.name) });
    if (idle && next) return this.#answer(idle, next, { ok: batch }, { begun: ground.state.now, ...audited });
    const name = taken.map(({ id, receives }) => (receives > 1 ? `${id} (receive ${receives})` : id)).join(' and ');
    return this.begin(`worker of ${name}`, worker(batch, ground.scope), batch, audited);
  }

  /** @param request the sweep's options */
  sweep(request: SweepEvent): Promise<void> {
    const kind = request.dry_run ? 'dry' : request.force_retry ? 'manual' : 'sweep';
    const run_id = `${kind}-${8 + this.#ground.count('sweeps')}`;
    return this.begin(run_id, sweeper(run_id, request, this.#ground.scope.lanes));
  }

  operate(command: keyof typeof COMMANDS, log_id: string): Promise<void> {
    const ground = this.#ground;
    ground.set({ memory: promises.redriven(ground.state.memory, revived(command, log_id, ground.rows())) });
    const name = `${COMMANDS[command]} of ${log_id}`;
    const times = ground.count(name);
    return this.begin(
      times > 1 ? `${name} (time ${times})` : name,
      this.#ground.scope.backups
        ? noted(command, log_id, `manual-${times}`, ground.given.get(log_id)?.tenant)
        : operator(command, log_id, `manual-${times}`),
    );
  }

  restore(): Promise<void> {
    const name = `the restoration (time ${this.#ground.count('restorations')})`;
    return this.begin(name, restorer(this.#ground));
  }

  /** SQS sends each letter anew, with its body. */
  async redrive(after_ms = 1_000): Promise<void> {
    const { now, letters, memory } = this.#ground.state;
    const log_ids = [...new Set(letters.map(({ message }) => message.log_id))];
    this.#ground.set({ now: now + after_ms, letters: [], memory: promises.redriven(memory, log_ids) });
    for (const { message } of letters) this.#ground.send(message, 0);
    if (this.#ground.scope.backups)
      await this.#ground.perform('', { id: 0, port: 'operator.noted', args: [redriveOf(now)] });
  }

  tell(event: DeliveryEvent): Promise<void> {
    const ground = this.#ground;
    if (!isOwed(ground, event)) ground.set({ events: [...ground.state.events, { event, at: null }] });
    tellAt(ground, event, ground.state.now + VISIBILITY_MS);
    if (event.feedback.kind === 'failed') ground.set({ memory: promises.bounced(ground.state.memory, event.log_id) });
    const name = `event of attempt ${event.attempt} of ${event.log_id}`;
    const times = ground.count(name);
    return this.begin(times > 1 ? `${name} (time ${times})` : name, teller(event), event);
  }

  end(actor: Actor, call: Call, ending: Ending): Promise<unknown> | unknown {
    const ground = this.#ground;
    const { now, late, hung } = ground.state;
    const { name } = actor;
    switch (ending) {
      case 'ok':
        return ground.perform(name, call).then((outcome) => {
          if (call.port === 'operator.restored') endRestoration(ground, call.args[0] as string[]);
          return this.#answer(actor, call, outcome);
        });
      case 'repeated':
        return ground.perform(name, inAnotherRound(call, ground.count(`rounds of ${name}`)) ?? call);
      case 'refused':
        ground.set({ memory: promises.refused(ground.state.memory, name, call.port) });
        return this.#answer(actor, call, refusalOf(call));
      case 'postponed':
        this.use('postpones');
        return this.#answer(actor, call, postponementOf(call, now));
      case 'hangs':
        return ground.set({ hung: [...hung, { by: name, id: call.id, until: now + limitOf(call) }] });
      case 'stale':
        return ground.performStale(call).then((outcome) => this.#answer(actor, call, outcome));
      case 'unanswered':
        ground.set({ late: [...late, { by: name, call }] });
        return this.#answer(actor, call, silenceOf(call, now));
      case 'dies during':
        ground.set({ late: [...late, { by: name, call }] });
        return this.#die(actor);
      case 'dies before':
        return this.#die(actor);
    }
  }

  use(limit: Limit, run: () => unknown = () => {}): unknown {
    const { left } = this.#ground.state;
    this.#ground.set({ left: { ...left, [limit]: (left[limit] ?? 0) - 1 } });
    return run();
  }

  passTo(time: number, { busy = false } = {}): void {
    const slowed = (actor: Actor): Actor => (busy && !isIdle(actor) ? { ...actor, slow: true } : actor);
    this.#ground.set({ now: time, actors: this.#ground.state.actors.map(slowed) });
  }

  /** What comes by itself after a step: calls end at their limit, Lambda ends invocations, SQS moves letters. */
  async comeDue(): Promise<void> {
    const ground = this.#ground;
    const { now } = ground.state;
    for (const one of ground.state.hung.filter(({ until }) => until <= now)) {
      ground.set({ hung: ground.state.hung.filter((other) => other !== one) });
      const actor = ground.state.actors.find(({ name }) => name === one.by);
      const call = actor?.moment.calls.find(({ id }) => id === one.id);
      if (actor && call) await this.#answer(actor, call, silenceOf(call, now));
    }
    const over = ground.state.actors.filter((actor) => !isIdle(actor) && deadlineOf(actor) <= now);
    for (const actor of over) this.#die(actor);
    if (over.some(({ slow }) => !slow)) ground.violated(promises.OUT_OF_TIME);
    const { queue, letters } = ground.state;
    const most = ground.scope.receives ?? MAX_RECEIVES;
    const moved = queue.filter(({ visible_at, receives }) => visible_at <= now && receives >= most);
    if (moved.length === 0) return;
    ground.set({ queue: queue.filter((one) => !moved.includes(one)), letters: [...letters, ...moved] });
  }

  pass(time: number): Promise<void> {
    this.#ground.checkWaiting();
    this.passTo(time);
    return this.comeDue();
  }

  /** Nothing is left to do: the letters of what is dead go back once, which has to send it again. @returns whether any */
  async redriveAll(): Promise<boolean> {
    const ground = this.#ground;
    checkEnd(ground);
    if (ground.state.dead !== undefined) return false;
    const { alone = [] } = ground.state;
    const isLeft = ({ log_id, work_queue }: Stored) =>
      promises.textOf(work_queue).startsWith('dead') && !alone.includes(String(log_id));
    const dead = ground.rows().filter(isLeft);
    ground.set({ dead });
    // Later than clocks may be wrong, so that each has to be sent.
    if (dead.length > 0) await this.redrive(CLOCKS_AGREE_MS);
    return dead.length > 0;
  }
}
