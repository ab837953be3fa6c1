import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { BatchNotification } from '../../../src/client/handover/notification.ts';
import type { ProducerApi } from '../client/producer-api.ts';
import { Flow } from './harness.ts';

/** The local runtime's API for producers. Its data directory survives its stops. */
export class LocalProducerApi implements ProducerApi {
  readonly #flow = new Flow();
  #url = '';
  #simulator = '';
  #apiKey = '';
  #attempts = 0;

  get url(): string {
    return this.#url;
  }

  get apiKey(): string {
    return this.#apiKey;
  }

  async start(): Promise<void> {
    await this.#flow.start({ dataDir: join(this.#flow.directory, 'state'), baseIntervalSeconds: 0.5 });
    const { api, simulator } = this.#flow.endpoints.endpoints;
    if (this.#apiKey === '') {
      this.#url = api;
      this.#simulator = simulator;
      this.#apiKey = await this.#createKey();
    }
    if (api !== this.#url || simulator !== this.#simulator) throw new Error(`the API moved to ${api}, ${simulator}`);
  }

  /** Stops as Ctrl-C does: running attempts are finished. */
  stop(): Promise<void> {
    return this.#flow.stop();
  }

  remove(): void {
    this.#flow.remove();
  }

  notification(marker: string): BatchNotification {
    return { channel: 'webhook', recipient: `${this.#simulator}/webhook/ok/${marker}`, body: `{"n":"${marker}"}` };
  }

  /** Number of attempts that have started; known after `delivered`. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Sweeps until everything is delivered. @returns the markers that the simulated receiver accepted */
  async delivered(): Promise<string[]> {
    let rows = await this.#flow.rows();
    for (; rows.some(({ send_status }) => send_status !== 'SUCCESS'); rows = await this.#flow.rows()) {
      await this.#flow.invoke('dispatcher', {});
      await setTimeout(500);
    }
    this.#attempts = rows.reduce((sum, { send_attempts }) => sum + Number(send_attempts), 0);
    const accepted = await this.#flow.received('accepted=true');
    return accepted.map(({ body }) => (JSON.parse(body) as { n: string }).n);
  }

  async #createKey(): Promise<string> {
    const made = ['keys', 'create', '--tenant', 'T951', '--scope', 'send', '--scope', 'read'];
    return (await this.#flow.opsJson<{ key: string }>(...made)).key;
  }
}
