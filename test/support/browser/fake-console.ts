import { createHash } from 'node:crypto';
import { buildConsole, CONSOLE_PAGE } from '../../../console/build.ts';
import type { Role } from '../../../src/application/contract/choices.ts';
import type { Caller } from '../../../src/application/route.ts';
import type { ConsoleRoutes, RouteKey } from '../../../src/application/routes.ts';
import { type ServedConsole, serveConsole } from '../../../src/console-server/serve-console.ts';
import type { HttpAnswer, HttpRequest } from '../../../src/http/kernel.ts';
import { sampleAnswers } from './sample-answers.ts';

/** What a route answers: a value of the contract, or a function of the request. */
export type FakeAnswers = {
  readonly [K in RouteKey]?:
    | ConsoleRoutes[K]['answer']
    | ((
        request: HttpRequest<Caller>,
        path: Readonly<Record<string, string>>,
      ) => ConsoleRoutes[K]['answer'] | HttpAnswer);
};

export interface FakeConsole extends ServedConsole {
  /** Every request of the API, in its order. */
  readonly requests: readonly HttpRequest<Caller>[];
  /** Replaces answers from now on. */
  answer(answers: FakeAnswers): void;
}

/** The real page behind the real server with its headers, and answers that a test decides: states that are hard to reach. */
export async function startFakeConsole(answers: FakeAnswers = {}, role: Role = 'operator'): Promise<FakeConsole> {
  buildConsole(CONSOLE_PAGE);
  let current: FakeAnswers = { ...sampleAnswers(role), ...answers };
  const requests: HttpRequest<Caller>[] = [];
  const dispatch = async (request: HttpRequest<Caller>): Promise<HttpAnswer> => {
    requests.push(request);
    const found = match(request, current);
    if (found === undefined) return problem(404, `There is no answer for ${request.method} ${request.path}.`);
    const value: unknown = typeof found.answer === 'function' ? found.answer(request, found.path) : found.answer;
    if (isAnswer(value)) return value;
    const body = JSON.stringify(value);
    const etag = `"${createHash('sha256').update(body).digest('hex').slice(0, 16)}"`;
    const headers = { 'content-type': 'application/json', etag };
    return request.headers['if-none-match'] === etag
      ? { status: 304, headers, body: '' }
      : { status: 200, headers, body };
  };
  const served = await serveConsole({
    dispatch,
    page: CONSOLE_PAGE,
    port: 0,
    caller: { who: 'tester', role },
    token: false,
    local: true,
  });
  return {
    ...served,
    requests,
    answer: (more) => {
      current = { ...current, ...more };
    },
  };
}

export function problem(status: number, detail: string, more: object = {}): HttpAnswer {
  const body = { type: 'about:blank', title: 'Refused', status, detail, remedy: 'Do what the test says.', ...more };
  return { status, headers: { 'content-type': 'application/problem+json' }, body: JSON.stringify(body) };
}

function match(request: HttpRequest<Caller>, answers: FakeAnswers) {
  for (const [key, answer] of Object.entries(answers)) {
    const [method, pattern = ''] = key.split(' ');
    const names = [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const found = new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '([^/]+)')}$`).exec(request.path);
    if (method !== request.method || found === null) continue;
    return { answer, path: Object.fromEntries(names.map((name, i) => [name, decodeURIComponent(found[i + 1] ?? '')])) };
  }
  return undefined;
}

function isAnswer(value: unknown): value is HttpAnswer {
  return typeof value === 'object' && value !== null && 'headers' in value && 'body' in value;
}
