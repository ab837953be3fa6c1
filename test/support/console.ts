import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Role } from '../../src/application/contract/choices.ts';
import { createOwnConsole } from '../../src/application/operation-runner.ts';
import { type AnswerOf, CONSOLE_ROUTES, type RouteKey } from '../../src/application/routes.ts';
import { serveConsole } from '../../src/console-server/serve-console.ts';
import type { AuditRecord } from '../../src/core/operator/audit.ts';
import { pathSegment } from '../../src/http/paths.ts';
import type { Operations } from './cli/operations.ts';

export interface ConsoleSettings {
  readonly role?: Role;
  readonly token?: boolean;
  readonly page?: string;
  readonly clock?: () => Date;
}

export type TestConsole = Awaited<ReturnType<typeof startTestConsole>>;

/** The console's routes over HTTP, on the tables and queues of operations. */
export async function startTestConsole(ops: Operations, settings: ConsoleSettings = {}) {
  const { role = 'operator', token = false, clock = () => new Date() } = settings;
  const records: AuditRecord[] = [];
  const faults: unknown[] = [];
  const own = createOwnConsole({
    deployment: ops.deployment,
    dynamodb: ops.dynamodb,
    sqs: ops.sqs,
    clock,
    newId: randomUUID,
    stage: 'test',
    region: 'us-east-1',
    local: true,
    onRecord: (record) => records.push(record),
    onFault: (error) => faults.push(error),
  });
  const served = await serveConsole({
    dispatch: own.dispatch,
    page: settings.page ?? join(ops.directory, 'page'),
    port: 0,
    caller: { who: 'mori', role },
    token,
    local: true,
  });
  const origin = new URL(served.url).origin;

  async function call<K extends RouteKey>(route: K, given: CallOptions = {}): Promise<Called<AnswerOf<K>>> {
    const [method = 'GET', pattern = ''] = route.split(' ');
    const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => pathSegment(given.path?.[name] ?? ''));
    const url = new URL(path, origin);
    for (const [name, value] of Object.entries(given.query ?? {})) url.searchParams.set(name, value);
    const response = await fetch(url, {
      method,
      headers: { ...(method === 'POST' && { 'content-type': 'application/json' }), ...given.headers },
      ...(method === 'POST' && { body: JSON.stringify(given.body ?? {}) }),
    });
    const text = await response.text();
    const answer = text === '' ? null : JSON.parse(text);
    // Each test of a route is a test of what the OpenAPI document says of it.
    const schema = CONSOLE_ROUTES.find(({ key }) => key === route)?.answer;
    if (response.status === 200 && schema !== undefined) v.parse(schema, answer);
    return { status: response.status, headers: response.headers, body: answer };
  }

  return {
    origin,
    url: served.url,
    records,
    faults,
    resume: own.resume,
    call,
    /** The answer of a route. @throws Error for a refusal */
    async ok<K extends RouteKey>(route: K, given: CallOptions = {}): Promise<AnswerOf<K>> {
      const { status, body } = await call(route, given);
      if (status !== 200) throw new Error(`${route}: ${status} ${JSON.stringify(body)} ${faults.join()}`);
      return body;
    },
    async stop(): Promise<void> {
      await served.close();
      await own.stop();
    },
  };
}

export interface CallOptions {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Called<A> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: A;
}
