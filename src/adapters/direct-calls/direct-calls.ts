import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { createRequestSigner, type RequestSigner, type SigningCredentials } from './sigv4.ts';

/** How the SDK reaches the service; learnt from a request of its own. */
interface Route {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number | undefined;
  readonly path: string;
  readonly host: string;
  /** Before the operation in `x-amz-target`; undefined where the path names the operation. */
  readonly target: string | undefined;
  readonly contentType: string;
  readonly signer: RequestSigner;
}

interface SdkClient {
  send(...args: never): unknown;
  readonly middlewareStack: { addRelativeTo(middleware: never, options: object): void };
  readonly config: {
    readonly credentials: () => Promise<SigningCredentials>;
    readonly systemClockOffset: number;
    readonly requestHandler: { handle(request: never, options?: object): Promise<{ response: HttpResponse }> };
  };
}

interface HttpResponse {
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

type Next = (args: object) => Promise<object>;

interface Command {
  readonly input: object;
}

interface Options {
  readonly abortSignal?: AbortSignal;
}

/** Refusals of a time or credentials, which the SDK corrects. */
const OF_SIGNATURE = /Expired|Skew|Signature|Future|Token|Auth|UnrecognizedClient/;
/** Longest pause in milliseconds before the SDK repeats a call that the service refused. */
const PAUSE_MS = 50;

/**
 * Makes calls of some operations without the SDK's schemas, middleware and signer, which cost most of the CPU
 * of a call (docs/decisions/measured/cold-start-and-bundles.md#0143). Whatever is not a plain success is the SDK's: the
 * first call, from which endpoint, region and service are learnt, and each call that is not answered with 200, which
 * the SDK makes again, with its retries, its correction of the clock and its errors. The connections, time limits and
 * credentials are the SDK's, too.
 * @param operations the commands by the name of their operation, in AWS JSON 1.0, or of one operation in REST JSON. The
 *   classes have other names in a minified bundle.
 * @param once a call is made again only where its signature was refused: any other may have taken effect, or who keeps to
 *   a rate has to learn of the refusal (docs/decisions/newsletters/throughput.md#0129)
 */
export function withDirectCalls<C extends SdkClient>(
  client: C,
  operations: Readonly<Record<string, unknown>>,
  { once = false }: { readonly once?: boolean } = {},
): C {
  const direct = new Map(Object.entries(operations).map(([operation, command]) => [command, operation]));
  const bySdk = client.send.bind(client) as (command: Command, ...rest: unknown[]) => unknown;
  let route: Route | undefined;

  const learn =
    (next: Next, { commandName = '' }: { readonly commandName?: string }) =>
    (args: { readonly request?: unknown }) => {
      if (Object.hasOwn(operations, commandName.replace(/Command$/, ''))) route ??= routeOf(args.request);
      return next(args);
    };
  client.middlewareStack.addRelativeTo(learn as never, {
    relation: 'after',
    toMiddleware: 'httpSigningMiddleware',
    name: 'learnRoute',
  });

  const send = (command: Command, options: Options = {}, ...rest: unknown[]): unknown => {
    const operation = direct.get(command.constructor);
    // Another option than a signal, or a callback, is the SDK's matter.
    const isOther = (name: string) => name !== 'abortSignal';
    const others =
      typeof options === 'function' || rest.some((one) => one !== undefined) || Object.keys(options).some(isOther);
    if (operation === undefined || route === undefined || others) return bySdk(command, options, ...rest);
    return call(client, route, operation, command.input, { ...options, once }).then(
      (answer) => answer ?? bySdk(command, options),
    );
  };
  client.send = send as C['send'];
  return client;
}

/** Above this, Node writes a text to a socket by way of three times its size. */
const LONG = 16_384;

/** @returns undefined when the call did not succeed and may be made again */
async function call(
  { config }: SdkClient,
  route: Route,
  operation: string,
  input: object,
  { once, ...options }: Options & { readonly once: boolean },
): Promise<object | undefined> {
  const { protocol, hostname, port, path, target } = route;
  const text = JSON.stringify(hasBytes(input) ? withBase64(input) : input);
  const body = text.length > LONG ? Buffer.from(text) : text;
  let status: number | undefined;
  try {
    const headers = route.signer.sign(
      {
        path,
        headers: {
          'content-type': route.contentType,
          host: route.host,
          ...(target !== undefined && { 'x-amz-target': `${target}${operation}` }),
        },
        body,
      },
      await config.credentials(),
      new Date(Date.now() + config.systemClockOffset),
    );
    const request = { protocol, hostname, port, path, method: 'POST', headers, body };
    const { response } = await config.requestHandler.handle(request as never, options);
    status = response.statusCode;
    const answer = await read(response.body as IncomingMessage);
    if (status === 200) return { ...decode(answer), $metadata: { httpStatusCode: 200 } };
    const refusal = errorOf(response, answer);
    if (once && !(status < 500 && OF_SIGNATURE.test(refusal.name))) throw refusal;
  } catch (error) {
    if (once)
      throw status === undefined ? error : Object.assign(error as Error, { $metadata: { httpStatusCode: status } });
    // The SDK makes the call again, and throws what is to be thrown. A connection that was closed is no reason to wait.
    return undefined;
  }
  await pause((Math.random() * PAUSE_MS) / 2 + PAUSE_MS / 2);
  return undefined;
}

/** Named as the SDK would name it: by a header or the body, of which the words are, too. */
function errorOf({ headers = {} }: HttpResponse, answer: string): Error {
  let said: Readonly<Record<string, unknown>> = {};
  try {
    said = decode(answer) as typeof said;
  } catch {} // What is no JSON comes from a proxy: the status says all.
  const [, name] = /^(?:[^:]*#)?([^:#]+)/.exec(String(headers['x-amzn-errortype'] ?? said['__type'] ?? '')) ?? [];
  const words = said['message'] ?? said['Message'] ?? name ?? 'The service did not say that it refused the call.';
  return Object.assign(new Error(String(words)), name !== undefined && { name });
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
  if (protocol === undefined || hostname === undefined || path === undefined || host === undefined) return undefined;
  if (region === undefined || service === undefined || contentType === undefined) return undefined;
  const isRest = contentType === 'application/json';
  if (!isRest && (contentType !== 'application/x-amz-json-1.0' || path !== '/' || target === undefined))
    return undefined;
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

/** As the SDK gives it: bytes for the types B and BS, nothing for null. @throws SyntaxError when it is no JSON */
function decode(text: string): object {
  const answer: unknown = text === '' ? {} : JSON.parse(text);
  if (!isObject(answer)) return {};
  // To walk through an answer costs as much as to parse it, and most have nothing to restore.
  return TO_RESTORE.test(text) ? restored(answer) : answer;
}

/** In one pass: three took half as long as to parse. */
const TO_RESTORE = /"BS?"|null/;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

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
function restored(value: Record<string, unknown>): object {
  for (const name in value) {
    const one: unknown = value[name];
    if (one === null) delete value[name];
    else if (typeof one === 'string') {
      if (name === 'B') value[name] = bytesOf(one);
    } else if (name === 'BS' && Array.isArray(one)) value[name] = one.map((text) => bytesOf(String(text)));
    else if (isObject(one)) restored(one);
  }
  return value;
}

/** As the SDK gives them: a Buffer is another type to those that compare or copy. */
function bytesOf(base64: string): Uint8Array {
  const { buffer, byteOffset, byteLength } = Buffer.from(base64, 'base64');
  return new Uint8Array(buffer, byteOffset, byteLength);
}
