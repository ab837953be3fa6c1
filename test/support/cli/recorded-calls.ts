import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Deployment } from '../../../src/adapters/deployment/deployment.ts';

/** A call, and its input as JSON. */
interface Call {
  readonly operation: string;
  readonly input: string;
}

/** What the SDK tells its logger about a call. */
interface LoggedCall {
  readonly clientName: string;
  readonly commandName: string;
  readonly input: object;
}

/** The part of a request of DynamoDB that names the call. */
interface WireRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const SERVICES: Readonly<Record<string, string>> = {
  SQSClient: 'sqs',
  LambdaClient: 'lambda',
  EventBridgeClient: 'events',
};

/** The clients of a deployment, recording the IAM actions of their calls, whether they succeed or not. */
export function recordingActions({ clients }: Deployment) {
  const actions = new Set<string>();
  const record = (service: string | undefined, call: Call) => {
    for (const action of actionsOf(call)) actions.add(`${service}:${action}`);
  };
  const recordLogged = ({ clientName, commandName, input }: LoggedCall) =>
    record(SERVICES[clientName], { operation: commandName.replace(/Command$/, ''), input: JSON.stringify(input) });
  const ignore = () => {};
  const logger = { trace: ignore, debug: ignore, warn: ignore, info: recordLogged, error: recordLogged };
  const { dynamodb, sqs, lambda } = clients;
  // On the wire, because calls of batches go without the SDK's middleware and logger.
  const { requestHandler: wire } = new DynamoDBClient(dynamodb).config;
  const requestHandler: typeof wire = {
    ...wire,
    handle: (request, options) => {
      const { headers, body } = request as unknown as WireRequest;
      const target = headers['x-amz-target'] ?? headers['X-Amz-Target'] ?? '';
      record('dynamodb', { operation: target.split('.')[1] ?? '', input: String(body) });
      return wire.handle(request, options);
    },
  };
  return {
    actions,
    clients: {
      dynamodb: { ...dynamodb, requestHandler },
      sqs: { ...sqs, logger },
      lambda: { ...lambda, logger },
      eventbridge: { ...clients.eventbridge, logger },
    },
  };
}

/** The actions that IAM judges a call by: AWS's service authorization reference. */
function actionsOf({ operation: name, input }: Call): string[] {
  switch (name) {
    case 'SendMessageBatch':
    case 'DeleteMessageBatch':
    case 'ChangeMessageVisibilityBatch':
      return [name.replace('Batch', '')];
    case 'Invoke':
      return ['InvokeFunction'];
    // SQS moves the messages with the rights of whoever asked for it.
    case 'StartMessageMoveTask':
      return [name, 'ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'SendMessage'];
    case 'ExecuteStatement':
    case 'BatchExecuteStatement':
      return [...input.matchAll(/"Statement":"(\w+)/g)].map(([, verb = '']) => partiqlAction(verb));
    case 'TransactWriteItems':
      return [...input.matchAll(/"(Put|Update|Delete|ConditionCheck)":\{/g)].map(([, verb]) => `${verb}Item`);
    default:
      return [name];
  }
}

function partiqlAction(verb: string): string {
  const word = verb.toLowerCase();
  return `PartiQL${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}
