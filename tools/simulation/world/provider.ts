import { FUNCTION_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import type { DeliveryEvent } from '../../../src/core/delivery-events/delivery-event.ts';
import * as allowances from '../audit/allowance-promises.ts';
import { corrected } from '../audit/life-promises.ts';
import type { Stored } from '../audit/memory.ts';
import * as promises from '../audit/promises.ts';
import type { Given, Scope, State } from './state.ts';

/** What the provider needs of the world. */
interface Ground {
  readonly state: State;
  readonly scope: Scope;
  readonly given: ReadonlyMap<string, Given>;
  readonly tables: { readonly log: ReadonlyMap<string, Stored> };
  readonly apart: number;
  set(change: Partial<State>): void;
  count(what: string): number;
  judge(judged: promises.Judged): void;
  recordsOf(log_id: string): Stored[];
}

/** The provider is asked to send. */
export function asked(
  ground: Ground,
  by: string,
  [log_id, attempt, recipient]: readonly [string, number, string],
  late: boolean,
): unknown {
  // No two attempts end in the same millisecond.
  ground.set({ now: ground.state.now + 1 });
  const { now } = ground.state;
  const sender = ground.state.actors.find(({ name }) => name === by);
  const left_ms = sender === undefined || sender.slow ? FUNCTION_MS : sender.begun + FUNCTION_MS - now;
  const send = { log_id, attempt, by, recipient, now, late, left_ms, apart: ground.apart };
  ground.judge(promises.sent(ground.state.memory, send, ground.tables.log.get(log_id), ground.recordsOf(log_id)));
  const { pacing, breakers } = ground.scope;
  // A breaker that holds the batch has it ask for no slots: what probes it has none.
  const isPaced = pacing !== undefined && !late && !(pacing === 'account' && breakers);
  const row = ground.tables.log.get(log_id);
  ground.judge(allowances.asked(ground.state.memory, send, row, isPaced ? pacing : undefined));
  const number = ground.count(`sends of ${log_id}`);
  if (ground.state.down) return { ok: false, error_type: 'SERVER_OVERLOAD', response_code: '503', message: 'down' };
  const answer = ground.given.get(log_id)?.script[number - 1];
  if (answer !== undefined && answer !== 'uncertain')
    return typeof answer === 'string' ? { ok: false, error_type: answer, message: 'refused' } : answer;
  ground.judge(promises.accepted(ground.state.memory, send));
  const provider_message_id = `p${attempt}`;
  const { feedback } = ground.scope;
  if (feedback !== undefined) {
    const event = { log_id, attempt, at: new Date(now).toISOString(), provider_message_id, feedback };
    ground.set({ events: [...ground.state.events, { event, at: now }] });
  }
  if (answer === 'uncertain') return { ok: false, error_type: 'NETWORK_TIMEOUT', message: 'no answer' };
  return { ok: true, response_code: '200', provider_message_id };
}

export function isOwed({ state }: Pick<Ground, 'state'>, told: DeliveryEvent): boolean {
  return state.events.some(({ event }) => isSameEvent(event, told));
}

/** @param at when it is told, or told again; null once it is applied */
export function tellAt(ground: Pick<Ground, 'state' | 'set'>, told: DeliveryEvent, at: number | null): void {
  const events = ground.state.events.map((one) => (isSameEvent(one.event, told) ? { ...one, at } : one));
  ground.set({ events });
}

function isSameEvent(a: DeliveryEvent, b: DeliveryEvent): boolean {
  const same = a.log_id === b.log_id && a.attempt === b.attempt && a.at === b.at;
  return same && JSON.stringify(a.feedback) === JSON.stringify(b.feedback);
}

interface Correctable extends Pick<Ground, 'state' | 'set'> {
  readonly tables: { readonly log: ReadonlyMap<string, Stored> };
}

/** An operator corrects a row: from this write on it goes to whom the operator has named. */
export async function correctedByOperator(
  ground: Correctable,
  [row, , content]: readonly unknown[],
  call: () => Promise<unknown>,
) {
  const log_id = String((row as Stored)['log_id']);
  const was = ground.tables.log.get(log_id) ?? {};
  const done = await call();
  if (ground.tables.log.get(log_id) !== was)
    ground.set({
      memory: corrected(ground.state.memory, was, { anew: true, recipient: 'recipient' in Object(content) }),
    });
  return done;
}
