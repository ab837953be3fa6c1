import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { DynamoDBClient, ServiceInputTypes, ServiceOutputTypes } from '@aws-sdk/client-dynamodb';
import { createRequestSigner, type RequestSigner } from './sigv4.ts';

/** How the SDK reaches the service; learnt from a request of its own. */
interface Route {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number | undefined;
  readonly path: string;
  readonly host: string;
  /** Before the operation in `x-amz-target`. */
  readonly target: string;
  readonly contentType: string;
  readonly signer: RequestSigner;
}

type Middleware = Parameters<DynamoDBClient['middlewareStack']['addRelativeTo']>[0];

interface SdkRequest {
  readonly input: ServiceInputTypes;
  readonly request: unknown;
}

interface Command {
  readonly input: object;
}

/** Longest pause in milliseconds before the SDK repeats a call that the service refused. */
const PAUSE_MS = 50;

/**
 * Makes calls of some operations without the SDK's schemas, middleware and signer, which cost most of the CPU
 * of a call (docs/decisions/measured/cold-start-and-bundles.md#0143). Whatever is not a plain success is the SDK's: the
 * first call, from which endpoint, region and service are learnt, and each call that is not answered with 200, which
 * the SDK makes again, with its retries, its correction of the clock and its errors. The connections, time limits and
 * credentials are the SDK's, too.
 * @param operations the commands by the name of their operation, in the protocol AWS JSON 1.0. The classes have other
 *   names in a minified bundle.
 */
export function withDirectCalls(client: DynamoDBClient, operations: Readonly<Record<string, unknown>>): DynamoDBClient {
  const direct = new Map(Object.entries(operations).map(([operation, command]) => [command, operation]));
  const bySdk = client.send.bind(client) as (command: Command, ...rest: unknown[]) => unknown;
  let route: Route | undefined;

  const learn =
    (next: (args: SdkRequest) => Promise<{ response: unknown; output: ServiceOutputTypes }>) => (args: SdkRequest) => {
      route ??= routeOf(args.request);
      return next(args);
    };
  client.middlewareStack.addRelativeTo(learn as Middleware, {
    relation: 'after',
    toMiddleware: 'httpSigningMiddleware',
    name: 'learnRoute',
  });

  const send = (command: Command, ...rest: unknown[]): unknown => {
    const operation = direct.get(command.constructor);
    // A signal or a callback is the SDK's matter.
    if (operation === undefined || route === undefined || rest.some((one) => one !== undefined)) {
      return bySdk(command, ...rest);
    }
    return call(client, route, operation, command.input).then((answer) => answer ?? bySdk(command));
  };
  client.send = send as DynamoDBClient['send'];
  return client;
}

/** @returns undefined when the call did not succeed */
async function call(
  client: DynamoDBClient,
  route: Route,
  operation: string,
  input: object,
): Promise<object | undefined> {
  try {
    const { config } = client;
    const body = encode(input);
    const headers = route.signer.sign(
      {
        path: route.path,
        headers: { 'content-type': route.contentType, host: route.host, 'x-amz-target': `${route.target}${operation}` },
        body,
      },
      await config.credentials(),
      new Date(Date.now() + config.systemClockOffset),
    );
    const { protocol, hostname, port, path } = route;
    const request = { protocol, hostname, port, path, method: 'POST', headers, body };
    const { response } = await config.requestHandler.handle(request as never);
    const text = await read(response.body as IncomingMessage);
    if (response.statusCode === 200) return { ...decode(text), $metadata: { httpStatusCode: 200 } };
  } catch {
    // The SDK makes the call again, and throws what is to be thrown. A connection that was closed is no reason to wait.
    return undefined;
  }
  await pause((Math.random() * PAUSE_MS) / 2 + PAUSE_MS / 2);
  return undefined;
}

function read(body: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    body.on('data', (chunk: Buffer) => chunks.push(chunk));
    body.on('end', () => resolve((chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString()));
    body.on('error', reject);
    body.on('close', () => {
      if (!body.readableEnded) reject(new Error('the answer is cut off'));
    });
  });
}

const CREDENTIAL = /Credential=[^/]+\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request/;
const TARGET = /^(\w+\.)\w+$/;

/** Undefined for a request of another form: then all calls are the SDK's. */
function routeOf(request: unknown): Route | undefined {
  const {
    protocol,
    hostname,
    port,
    path,
    headers = {},
  } = (request ?? {}) as Partial<Route> & {
    readonly headers?: Readonly<Record<string, string>>;
  };
  const [, region, service] = CREDENTIAL.exec(headers['authorization'] ?? '') ?? [];
  const [, target] = TARGET.exec(headers['x-amz-target'] ?? '') ?? [];
  const { host, 'content-type': contentType } = headers;
  if (protocol === undefined || hostname === undefined || path !== '/' || host === undefined) return undefined;
  if (region === undefined || service === undefined || target === undefined) return undefined;
  if (contentType !== 'application/x-amz-json-1.0') return undefined;
  return {
    protocol,
    hostname,
    port,
    path,
    host,
    target,
    contentType,
    signer: createRequestSigner({ region, service }),
  };
}

/** AWS JSON 1.0 as DynamoDB and SQS speak it: JSON, in which binary values are base64. */

/** The text of a request. */
function encode(input: object): string {
  return JSON.stringify(hasBytes(input) ? withBase64(input) : input);
}

/**
 * The answer of a text, as the SDK gives it: attributes of the types B and BS are bytes, and what is null is absent.
 * @throws SyntaxError when the text is no JSON
 */
function decode(text: string): object {
  const answer: unknown = text === '' ? {} : JSON.parse(text);
  if (!isObject(answer)) return {};
  // To walk through an answer costs as much as to parse it, and most have nothing to restore.
  return TO_RESTORE.some((sign) => text.includes(sign)) ? restored(answer) : answer;
}

const TO_RESTORE = ['"B"', '"BS"', 'null'];

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function hasBytes(value: object): boolean {
  if (value instanceof Uint8Array) return true;
  for (const one of Object.values(value)) if (isObject(one) && hasBytes(one)) return true;
  return false;
}

function withBase64(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  }
  if (Array.isArray(value)) return value.map(withBase64);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withBase64(one)]));
}

/** In place. A text under B is binary in an attribute value only: an attribute of that name has an object there. */
function restored<T extends Record<string, unknown>>(value: T): T {
  for (const name in value) {
    const one: unknown = value[name];
    if (one === null) delete value[name];
    else if (typeof one === 'string') {
      if (name === 'B') put(value, name, bytesOf(one));
    } else if (name === 'BS' && Array.isArray(one)) {
      put(
        value,
        name,
        one.map((text) => bytesOf(String(text))),
      );
    } else if (isObject(one)) restored(one);
  }
  return value;
}

function put(value: Record<string, unknown>, name: string, one: unknown): void {
  value[name] = one;
}

/** As the SDK gives them: a Buffer is another type to those that compare or copy. */
function bytesOf(base64: string): Uint8Array {
  const { buffer, byteOffset, byteLength } = Buffer.from(base64, 'base64');
  return new Uint8Array(buffer, byteOffset, byteLength);
}
