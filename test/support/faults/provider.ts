import type { Delivery, Refused, Sender, SendResult } from '../../../src/core/delivery/sender.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import type { Worker } from './worker.ts';

/** The provider's answers to the sends of a notification, one after the other; after them, it accepts. */
export type Script = readonly Refused[];

/** A provider that counts what it accepts, and records at once what must never happen. */
export class Provider {
  readonly accepted = new Map<string, number>();
  readonly sends = new Map<string, number>();
  readonly violations: string[] = [];
  /** When true, every send is accepted. */
  healed = false;
  /** When true, every send is refused, as by a provider that is down. */
  down = false;
  /** Sends while the provider was down, by integration. */
  readonly sendsWhileDown = new Map<string, number>();
  /** By notification: whether events had shown at its newest claim that it had arrived. */
  readonly arrivedBefore = new Map<string, boolean>();
  readonly #scripts: ReadonlyMap<string, Script>;
  readonly #row: (log_id: string) => NotificationRow | undefined;
  readonly #now: () => number;
  readonly #notBefore: (log_id: string) => number;
  readonly #inFlight = new Map<string, Worker>();

  /** @param notBefore when the notification's last retry record allows the next attempt, in epoch milliseconds. */
  constructor(
    scripts: ReadonlyMap<string, Script>,
    row: (log_id: string) => NotificationRow | undefined,
    now: () => number,
    notBefore: (log_id: string) => number,
  ) {
    this.#scripts = scripts;
    this.#row = row;
    this.#now = now;
    this.#notBefore = notBefore;
  }

  senderFor(worker: Worker): Sender {
    return { send: (delivery) => worker.call('send', () => this.#send(delivery, worker), delivery.log_id) };
  }

  async #send({ log_id, content, integration_config_id = '' }: Delivery, worker: Worker): Promise<SendResult> {
    this.#check(log_id, content.recipient);
    this.#inFlight.set(log_id, worker);
    // Lets every other worker act meanwhile.
    for (let i = 0; i < 5; i++) await Promise.resolve();
    this.#inFlight.delete(log_id);
    const count = (this.sends.get(log_id) ?? 0) + 1;
    this.sends.set(log_id, count);
    if (this.down) {
      this.sendsWhileDown.set(integration_config_id, (this.sendsWhileDown.get(integration_config_id) ?? 0) + 1);
      return { ok: false, error_type: 'SERVER_OVERLOAD', response_code: '503', message: 'down' };
    }
    const refused = this.healed ? undefined : this.#scripts.get(log_id)?.[count - 1];
    if (refused) return refused;
    this.accepted.set(log_id, (this.accepted.get(log_id) ?? 0) + 1);
    return { ok: true, response_code: '200' };
  }

  #check(log_id: string, recipient: string): void {
    const row = this.#row(log_id);
    const holder = this.#inFlight.get(log_id);
    if (holder !== undefined && !holder.dead) this.violations.push(`${log_id}: two sends overlap`);
    if (row?.send_status !== 'SENDING') this.violations.push(`${log_id}: sent while ${row?.send_status}`);
    if (row?.is_deleted) this.violations.push(`${log_id}: sent although its writer deleted it`);
    if (this.arrivedBefore.get(log_id)) this.violations.push(`${log_id}: sent although it had arrived`);
    if (this.#notBefore(log_id) > this.#now()) this.violations.push(`${log_id}: sent before it was due`);
    if (recipient !== `to ${log_id}`) this.violations.push(`${log_id}: sent to someone else`);
  }
}
