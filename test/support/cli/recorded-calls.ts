import type { Deployment } from '../../../src/adapters/deployment/deployment.ts';

/** What the SDK tells its logger about a call. */
interface Call {
  readonly clientName: string;
  readonly commandName: string;
  readonly input: object;
}

const SERVICES: Readonly<Record<string, string>> = { DynamoDBClient: 'dynamodb', SQSClient: 'sqs' };

/** The clients of a deployment, recording the IAM actions of their calls, whether they succeed or not. */
export function recordingActions({ clients }: Deployment) {
  const actions = new Set<string>();
  const record = (call: Call) => {
    for (const action of actionsOf(call)) actions.add(`${SERVICES[call.clientName]}:${action}`);
  };
  const ignore = () => {};
  const logger = { trace: ignore, debug: ignore, warn: ignore, info: record, error: record };
  return { actions, clients: { dynamodb: { ...clients.dynamodb, logger }, sqs: { ...clients.sqs, logger } } };
}

/** The actions that IAM judges a call by: AWS's service authorization reference. */
function actionsOf({ commandName, input }: Call): string[] {
  const name = commandName.replace(/Command$/, '');
  switch (name) {
    case 'SendMessageBatch':
    case 'DeleteMessageBatch':
    case 'ChangeMessageVisibilityBatch':
      return [name.replace('Batch', '')];
    // SQS moves the messages with the rights of whoever asked for it.
    case 'StartMessageMoveTask':
      return [name, 'ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'SendMessage'];
    case 'ExecuteStatement':
    case 'BatchExecuteStatement':
      return [...JSON.stringify(input).matchAll(/"Statement":"(\w+)/g)].map(([, verb = '']) => partiqlAction(verb));
    case 'TransactWriteItems':
      return [...JSON.stringify(input).matchAll(/"(Put|Update|Delete|ConditionCheck)":\{/g)].map(
        ([, verb]) => `${verb}Item`,
      );
    default:
      return [name];
  }
}

function partiqlAction(verb: string): string {
  const word = verb.toLowerCase();
  return `PartiQL${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}
