import { isObject, type Json, type JsonObject, objectAt } from '../../support/json.ts';
import type { SynthesizedStack } from './assembly.ts';

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
  /** The property with the name. */
  readonly name: string;
  /** Longest name. */
  readonly most: number;
  /** The service and the prefix in the ARN. */
  readonly arn: readonly [service: string, prefix: string];
  /** Value of `Ref`; the name unless given. */
  readonly ref?: 'arn' | 'url';
}

const NAMED_TYPES: Readonly<Record<string, NamedType>> = {
  'AWS::DynamoDB::Table': { name: 'TableName', most: 255, arn: ['dynamodb', 'table/'] },
  'AWS::SQS::Queue': { name: 'QueueName', most: 80, arn: ['sqs', ''], ref: 'url' },
  'AWS::Lambda::Function': { name: 'FunctionName', most: 64, arn: ['lambda', 'function:'] },
  'AWS::SecretsManager::Secret': { name: 'Name', most: 512, arn: ['secretsmanager', 'secret:'], ref: 'arn' },
  'AWS::SES::ConfigurationSet': { name: 'Name', most: 64, arn: ['ses', 'configuration-set/'] },
  'AWS::KMS::Key': { name: '-', most: 256, arn: ['kms', 'key/'] },
  'AWS::SNS::Topic': { name: 'TopicName', most: 256, arn: ['sns', ''], ref: 'arn' },
  'AWS::Events::EventBus': { name: 'Name', most: 256, arn: ['events', 'event-bus/'] },
  'AWS::Logs::LogGroup': { name: 'LogGroupName', most: 512, arn: ['logs', 'log-group:'] },
  'AWS::IAM::Role': { name: 'RoleName', most: 64, arn: ['iam', 'role/'] },
};

/** For resources whose name nothing on this machine looks up, such as alarms. Any stable text will do. */
const OTHER: NamedType = { name: '-', most: 255, arn: ['local', ''] };

const typeOf = (resource: JsonObject): NamedType => NAMED_TYPES[String(resource['Type'])] ?? OTHER;

/** From the template, else from the stack's name and the logical id, as in CloudFormation. */
export function physicalName(stack: Pick<SynthesizedStack, 'name'>, id: string, resource: JsonObject): string {
  const type = typeOf(resource);
  const given = objectAt(resource['Properties'] ?? {}, `${id}.Properties`)[type.name];
  if (typeof given === 'string') return given;
  const name = `${stack.name}-${id}`;
  // A logical id ends with its hash, which keeps shortened names distinct.
  return name.length <= type.most ? name : `${name.slice(0, type.most - 9)}-${id.slice(-8)}`;
}

export interface References {
  /** Value of `Ref: id`; undefined when nothing has that name. */
  ref(id: string): string | undefined;
  /** Value of `Fn::GetAtt: [id, attribute]`; undefined when nothing has that name. */
  getAtt(id: string, attribute: string): string | undefined;
}

export function localReferences(stack: SynthesizedStack, place: Place): References {
  const { region, accountId, sqsEndpoint } = place;
  const pseudo: Readonly<Record<string, string>> = {
    'AWS::Region': region,
    'AWS::AccountId': accountId,
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
    'AWS::StackName': stack.name,
    'AWS::StackId': `arn:aws:cloudformation:${region}:${accountId}:stack/${stack.name}/local`,
    'AWS::NoValue': '',
  };
  const named = (id: string) => {
    const resource = stack.resources[id];
    if (resource === undefined) return undefined;
    const [type, name] = [typeOf(resource), physicalName(stack, id, resource)];
    const [service, prefix] = type.arn;
    const arn = `arn:aws:${service}:${service === 'iam' ? '' : region}:${accountId}:${prefix}${name}`;
    return { name, arn, ref: { name, arn, url: `${sqsEndpoint}/${accountId}/${name}` }[type.ref ?? 'name'] };
  };
  return {
    ref(id) {
      const parameter = stack.parameters[id]?.['Default'];
      return parameter === undefined ? (pseudo[id] ?? named(id)?.ref) : String(parameter);
    },
    getAtt(id, attribute) {
      const found = named(id);
      if (attribute === 'StreamArn') return found && `${found.arn}/stream/local`;
      return attribute.endsWith('Arn') ? found?.arn : found?.name;
    },
  };
}

/**
 * Replaces every CloudFormation intrinsic function in `value` with its result.
 * @throws Error that names the place in the template and the function or reference that cannot be resolved
 */
export function resolve(value: Json, references: References, at: string): Json {
  if (Array.isArray(value)) return value.map((item: Json, index) => resolve(item, references, `${at}[${index}]`));
  if (!isObject(value)) return value;
  const [key, ...others] = Object.keys(value);
  if (key !== undefined && others.length === 0 && (key === 'Ref' || key.startsWith('Fn::'))) {
    return intrinsic(key, value[key] ?? null, references, at);
  }
  const entries = Object.entries(value).flatMap(([name, item]) => (item === undefined ? [] : [[name, item] as const]));
  return Object.fromEntries(entries.map(([name, item]) => [name, resolve(item, references, `${at}.${name}`)]));
}

function intrinsic(name: string, argument: Json, references: References, at: string): Json {
  const parts = Array.isArray(argument) ? (argument as readonly Json[]) : [argument];
  const attribute = (id: string, of: string) => found(references.getAtt(id, of), `${id}.${of}`, at);
  if (name === 'Ref') return found(references.ref(String(argument)), String(argument), at);
  if (name === 'Fn::GetAtt') return attribute(String(parts[0]), String(parts[1]));
  if (name === 'Fn::Join') {
    const joined = resolve(parts[1] ?? [], references, at);
    return (Array.isArray(joined) ? joined : [joined]).join(String(parts[0]));
  }
  if (name === 'Fn::Sub') {
    return String(argument).replaceAll(
      /\$\{(!?)([^}.]+)\.?([^}]*)\}/g,
      (_, literal: string, id: string, of: string) => {
        if (literal !== '') return `\${${id}}`;
        return of === '' ? found(references.ref(id), id, at) : attribute(id, of);
      },
    );
  }
  const known = 'It resolves Ref, Fn::GetAtt, Fn::Join and Fn::Sub.';
  throw new Error(`${at} uses ${name}, which the local runtime does not know. ${known}`);
}

function found(value: string | undefined, what: string, at: string): string {
  if (value !== undefined) return value;
  throw new Error(`${at} refers to ${what}, which is neither a resource nor a parameter with a default`);
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
