import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Handle, sendJson } from '../../../http/loopback-server.ts';
import { parsed } from '../../support/json.ts';
import type { Log } from '../../support/running.ts';
import { pause } from '../../support/running.ts';
import { nameInArn } from '../template/references.ts';
import type { InvocationResult, InvokeByName } from './invocation.ts';

export interface LambdaApiOptions {
  readonly invoke: InvokeByName;
  /** Waits until the rows that were put before have been handled; false when this takes longer than `timeoutMs`. */
  readonly caughtUp: (timeoutMs: number) => Promise<boolean>;
  /** Answers requests below `/v1/` and `/u/`: the stack's own HTTP API. */
  readonly httpApi?: Handle;
  /** Answers requests below `/schedules/`: EventBridge Scheduler. */
  readonly scheduler?: Handle;
  readonly log: Log;
  /** Milliseconds before each further try of a failed asynchronous invocation; on Lambda one and two minutes. */
  readonly retryDelaysMs?: readonly number[];
  /** Ends the further tries. */
  readonly signal: AbortSignal;
}

/** Longest wait of `GET /_caught_up`, in milliseconds. */
const CATCH_UP_MS = 10_000;

/**
 * Answers Lambda's Invoke as the SDK calls it, and a request of our own: `GET /_caught_up` answers
 * `{"caught_up":true}` once the rows that were put before have been indexed, so that a sweep from outside finds them.
 * Any other AWS call of a function has no stand-in and gets an error that names it.
 */
export function createLambdaApi(options: LambdaApiOptions): Handle {
  return (request, response, body) => {
    const [, first] = /^\/(v1|u|schedules)\//.exec(request.url ?? '') ?? [];
    const other = first === 'schedules' ? options.scheduler : first && options.httpApi;
    return other ? other(request, response, body) : route(request, response, body.toString() || '{}', options);
  };
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  event: string,
  options: LambdaApiOptions,
): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://localhost').pathname;
  if (request.method === 'GET' && path === '/_caught_up') {
    return sendJson(response, 200, { caught_up: await options.caughtUp(CATCH_UP_MS) });
  }
  const encoded = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(path)?.[1];
  if (request.method !== 'POST' || encoded === undefined) {
    const target = request.headers['x-amz-target'];
    const what = typeof target === 'string' ? target : `${request.method} ${path}`;
    return fail(response, 501, 'NotImplementedException', `The local runtime has no stand-in for ${what}`);
  }
  if (parsed(event) === undefined)
    return fail(response, 400, 'InvalidRequestContentException', 'The payload is not JSON');
  const name = nameInArn(decodeURIComponent(encoded));
  const type = request.headers['x-amz-invocation-type'] ?? 'RequestResponse';
  const result = type === 'DryRun' ? undefined : options.invoke(name, event);
  if (type === 'DryRun') {
    response.writeHead(204).end();
  } else if (result === undefined) {
    fail(response, 404, 'ResourceNotFoundException', `Function not found: ${name}`);
  } else if (type === 'Event') {
    response.writeHead(202).end();
    await retry(name, event, result, options);
  } else {
    answer(response, await result);
  }
}

/** Lambda makes two more tries of an asynchronous invocation that failed. */
async function retry(
  name: string,
  event: string,
  first: Promise<InvocationResult>,
  { invoke, log, retryDelaysMs = [1_000, 2_000], signal }: LambdaApiOptions,
): Promise<void> {
  let result = await first;
  for (const delay of retryDelaysMs) {
    if (result.ok) return;
    log(`${name}: ${result.error.errorType}: ${result.error.errorMessage}; tried again in ${delay} ms`);
    await pause(delay, signal);
    if (signal.aborted) return;
    result = (await invoke(name, event)) ?? result;
  }
  if (!result.ok) log(`${name}: given up: ${result.error.errorType}: ${result.error.errorMessage}`);
}

function answer(response: ServerResponse, result: InvocationResult): void {
  const headers = { 'content-type': 'application/json', 'x-amz-executed-version': '$LATEST' };
  if (result.ok) response.writeHead(200, headers).end(result.result);
  else response.writeHead(200, { ...headers, 'x-amz-function-error': 'Unhandled' }).end(JSON.stringify(result.error));
}

function fail(response: ServerResponse, status: number, type: string, message: string): void {
  response.setHeader('x-amzn-errortype', type);
  sendJson(response, status, { Type: 'User', Message: message });
}
