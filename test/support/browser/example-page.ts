import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { unusedPort } from '../../../src/local/processes/tcp-ports.ts';
import { Flow } from '../flow/harness.ts';
import { PROJECT_ROOT } from '../project-root.ts';

/** The example of a page for producers: the local runtime, and the page's own server as a producer starts it. */
export class ExamplePage {
  readonly flow = new Flow();
  #server: ChildProcess | undefined;
  /** Origin of the page. */
  url = '';
  api = '';
  apiKey = '';

  async start(): Promise<void> {
    const port = await unusedPort();
    this.url = `http://127.0.0.1:${port}`;
    // A first attempt that a slow machine lets time out is retried while the test still waits.
    await this.flow.start({ corsOrigins: [this.url], baseIntervalSeconds: 20 });
    this.api = this.flow.endpoints.endpoints.api;
    const scopes = ['send', 'read', 'operate'].flatMap((scope) => ['--scope', scope]);
    const made = await this.flow.opsJson<{ key: string }>('keys', 'create', '--tenant', 'PAGES', ...scopes);
    this.apiKey = made.key;
    const script = join(PROJECT_ROOT, 'examples', 'offline-page', 'server.ts');
    this.#server = spawn(process.execPath, ['--import', 'tsx', script], {
      cwd: PROJECT_ROOT,
      env: { ...process.env, PORT: String(port), NOTIFICATION_API_URL: this.api, NOTIFICATION_API_KEY: this.apiKey },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (this.#server.stdout) await once(this.#server.stdout, 'data');
  }

  async stop(): Promise<void> {
    this.#server?.kill();
    await this.flow.end();
  }

  /** A recipient whose simulated receiver accepts, or does what the instruction says. */
  recipient(name: string, instruction = 'ok'): string {
    return `${this.flow.endpoints.endpoints.simulator}/webhook/${instruction}/${name}`;
  }

  /** The texts that the receivers accepted and that contain the name, one per delivery. */
  async delivered(name: string): Promise<string[]> {
    const received = await this.flow.received('accepted=true');
    const bodies = received.map(({ body }) => JSON.parse(body) as { readonly data: { readonly message: string } });
    return bodies
      .map(({ data }) => data.message)
      .filter((text) => text.includes(name))
      .sort();
  }

  /** A token that ends soon, in place of the server's. */
  async shortToken(body: object, ttl_seconds: number): Promise<string> {
    const answer = await fetch(`${this.api}/v1/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ttl_seconds }),
    });
    return await answer.text();
  }
}
