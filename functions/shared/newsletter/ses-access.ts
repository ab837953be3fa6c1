import { SESv2Client } from '@aws-sdk/client-sesv2';
import { createBulkProvider } from '../../../src/adapters/ses-v2/bulk-provider.ts';
import { createSenderFault } from '../../../src/adapters/ses-v2/sender-identity.ts';
import { lean } from '../runtime/clients/lean.ts';

/** In a module of its own, so that SES's client is loaded with the first call, and not at each cold start. */
export function createSesAccess(configurationSet: string) {
  // A repeated call could send twice, so the client never repeats one.
  const client = plainJson(lean(new SESv2Client({ maxAttempts: 1 })), ['SendBulkEmail']);
  return { provider: createBulkProvider({ client, configurationSet }), senderFault: createSenderFault(client) };
}

interface Operation {
  readonly name: string;
}

interface Request {
  body?: unknown;
}

interface Response {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  body?: unknown;
}

interface Context {
  streamCollector(body: unknown): Promise<Uint8Array>;
}

/** What this module needs of the protocol of an SDK client. */
interface Protocol {
  serializeRequest(operation: Operation, input: object, context: Context): Promise<Request>;
  deserializeResponse(operation: Operation, context: Context, response: Response): Promise<object>;
}

/** How a binary value begins in the JSON of a request (as JavaScript writes its bytes) or of an answer. */
const BINARY = /"BS?":/;

/**
 * Lets a client write and read the JSON of some operations at once. The SDK walks through each value with its schema,
 * which is a fifth of what a call costs; for these operations the schema changes binary values only. A text that may
 * have some goes the SDK's way, as do errors and all other operations (docs/decisions/newsletters/throughput.md#0129).
 * @param operations whose input and output are JSON as they are: no time, no idempotency token, nothing in the path
 */
export function plainJson<C extends { readonly config: { protocol: unknown } }>(
  client: C,
  operations: readonly string[],
): C {
  const given = client.config.protocol as Protocol;
  const plain = new Set(operations);
  const protocol: Protocol = {
    async serializeRequest(operation, input, context) {
      const body = plain.has(operation.name) ? JSON.stringify(input) : undefined;
      if (body === undefined || BINARY.test(body)) return given.serializeRequest(operation, input, context);
      const request = await given.serializeRequest(operation, {}, context);
      request.body = body;
      return request;
    },
    async deserializeResponse(operation, context, response) {
      const { statusCode, headers } = response;
      if (!plain.has(operation.name) || statusCode >= 300)
        return given.deserializeResponse(operation, context, response);
      const bytes = await context.streamCollector(response.body);
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
      if (text === '' || BINARY.test(text)) {
        response.body = bytes;
        return given.deserializeResponse(operation, context, response);
      }
      const $metadata = { httpStatusCode: statusCode, requestId: headers['x-amzn-requestid'] };
      return Object.assign(JSON.parse(text), { $metadata });
    },
  };
  client.config.protocol = Object.assign(Object.create(given), protocol);
  return client;
}
