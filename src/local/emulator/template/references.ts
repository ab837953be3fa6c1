import { type JsonObject, objectAt } from '../../support/json.ts';
import type { SynthesizedStack } from './assembly.ts';
import type { References } from './intrinsics.ts';

/** Region, account and queue URLs of the local stack. The account is the one that the SQS stand-in uses. */
export interface Place {
  readonly region: string;
  readonly accountId: string;
  /** Base URL of the SQS stand-in, without a slash at the end. */
  readonly sqsEndpoint: string;
}

export const LOCAL_REGION = 'us-east-1';
export const LOCAL_ACCOUNT = '000000000000';

interface NamedType {
  readonly nameProperty: string;
  readonly maxLength: number;
  readonly arn: (name: string, place: Place) => string;
  /** Value of `Ref`. */
  readonly ref: (name: string, place: Place) => string;
}

const itself = (name: string): string => name;
const arn = (service: string, prefix: string) => (name: string, place: Place) =>
  `arn:aws:${service}:${place.region}:${place.accountId}:${prefix}${name}`;

const NAMED_TYPES: Readonly<Record<string, NamedType>> = {
  'AWS::DynamoDB::Table': { nameProperty: 'TableName', maxLength: 255, arn: arn('dynamodb', 'table/'), ref: itself },
  'AWS::DynamoDB::GlobalTable': {
    nameProperty: 'TableName',
    maxLength: 255,
    arn: arn('dynamodb', 'table/'),
    ref: itself,
  },
  'AWS::SQS::Queue': {
    nameProperty: 'QueueName',
    maxLength: 80,
    arn: arn('sqs', ''),
    ref: (name, place) => `${place.sqsEndpoint}/${place.accountId}/${name}`,
  },
  'AWS::Lambda::Function': {
    nameProperty: 'FunctionName',
    maxLength: 64,
    arn: arn('lambda', 'function:'),
    ref: itself,
  },
  'AWS::SecretsManager::Secret': {
    nameProperty: 'Name',
    maxLength: 512,
    arn: arn('secretsmanager', 'secret:'),
    ref: arn('secretsmanager', 'secret:'),
  },
  'AWS::SES::ConfigurationSet': {
    nameProperty: 'Name',
    maxLength: 64,
    arn: arn('ses', 'configuration-set/'),
    ref: itself,
  },
  'AWS::KMS::Key': { nameProperty: '-', maxLength: 256, arn: arn('kms', 'key/'), ref: itself },
  'AWS::SNS::Topic': { nameProperty: 'TopicName', maxLength: 256, arn: arn('sns', ''), ref: arn('sns', '') },
  'AWS::Events::EventBus': { nameProperty: 'Name', maxLength: 256, arn: arn('events', 'event-bus/'), ref: itself },
  'AWS::Logs::LogGroup': { nameProperty: 'LogGroupName', maxLength: 512, arn: arn('logs', 'log-group:'), ref: itself },
  'AWS::IAM::Role': {
    nameProperty: 'RoleName',
    maxLength: 64,
    arn: (name, place) => `arn:aws:iam::${place.accountId}:role/${name}`,
    ref: itself,
  },
};

/** For resources whose name nothing on this machine looks up, such as alarms. Any stable text will do. */
const OTHER: NamedType = { nameProperty: '-', maxLength: 255, arn: arn('local', ''), ref: itself };

/**
 * The physical name of a resource: from the template, else from the stack's name and the logical id, as in
 * CloudFormation.
 */
export function physicalName(stack: SynthesizedStack, id: string, resource: JsonObject): string {
  const type = NAMED_TYPES[String(resource['Type'])] ?? OTHER;
  const given = objectAt(resource['Properties'] ?? {}, `${id}.Properties`)[type.nameProperty];
  if (typeof given === 'string') return given;
  const name = `${stack.name}-${id}`;
  // A logical id ends with its hash, which keeps shortened names distinct.
  return name.length <= type.maxLength ? name : `${name.slice(0, type.maxLength - 9)}-${id.slice(-8)}`;
}

export function localReferences(stack: SynthesizedStack, place: Place): References {
  const pseudo: Readonly<Record<string, string>> = {
    'AWS::Region': place.region,
    'AWS::AccountId': place.accountId,
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
    'AWS::StackName': stack.name,
    'AWS::StackId': `arn:aws:cloudformation:${place.region}:${place.accountId}:stack/${stack.name}/local`,
    'AWS::NoValue': '',
  };
  const named = (id: string) => {
    const resource = stack.resources[id];
    if (resource === undefined) return undefined;
    return { type: NAMED_TYPES[String(resource['Type'])] ?? OTHER, name: physicalName(stack, id, resource), resource };
  };
  return {
    ref(id) {
      const parameter = stack.parameters[id]?.['Default'];
      if (parameter !== undefined) return String(parameter);
      const found = named(id);
      return pseudo[id] ?? found?.type.ref(found.name, place);
    },
    getAtt(id, attribute) {
      const found = named(id);
      if (found === undefined) return undefined;
      const ownArn = found.type.arn(found.name, place);
      if (attribute === 'StreamArn') return `${ownArn}/stream/local`;
      return attribute.endsWith('Arn') ? ownArn : found.name;
    },
  };
}

/**
 * The name in the ARN of a table, stream, queue, function or alias; a text that is not an ARN is returned unchanged.
 */
export function nameInArn(text: string): string {
  if (!text.startsWith('arn:')) return text;
  const [, , service = '', , , first = '', second = ''] = text.split(':');
  if (service === 'dynamodb') return first.split('/')[1] ?? first;
  return service === 'lambda' ? second : first;
}
