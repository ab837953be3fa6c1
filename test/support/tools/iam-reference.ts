import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type Json, type JsonObject, objectAt } from '../../../src/local/support/json.ts';
import { NODE_TOOLS } from './tools.ts';

/** The Service Authorization Reference of AWS, as an npm package. */
export const IAM_DATA = join(NODE_TOOLS, '@cloud-copilot', 'iam-data', 'data');

interface ActionEntry {
  readonly resourceTypes: readonly {
    readonly name: string;
    readonly required: boolean;
    readonly conditionKeys: readonly string[];
  }[];
  readonly conditionKeys: readonly string[];
}

/** What the reference says of an action, with a `*` for each variable part. */
interface Action {
  readonly arns: readonly { readonly type: string; readonly required: boolean; readonly pattern: string }[];
  readonly conditionKeys: readonly string[];
}

const services = new Map<string, ReadonlyMap<string, Action>>();

/** The types whose statements a deployment makes, and the property that holds them. */
const DOCUMENTS: Readonly<Record<string, 'identity' | 'resource'>> = {
  'AWS::IAM::Policy': 'identity',
  'AWS::IAM::ManagedPolicy': 'identity',
  'AWS::SQS::QueuePolicy': 'resource',
  'AWS::SNS::TopicPolicy': 'resource',
  'AWS::S3::BucketPolicy': 'resource',
};

/**
 * What the statements of a template say that AWS does not know: an action, a resource of a type that the action does not
 * take, a required type without a resource, a condition key that AWS never sets for the action (an Allow with it allows
 * nothing). A policy of a resource names nothing but that resource, so only its actions and conditions are compared.
 */
export function unknownToIam(template: JsonObject): readonly string[] {
  const resources = objectAt(template['Resources'], 'Resources');
  const found = Object.entries(resources).flatMap(([id, value]) => {
    const { Type, Properties } = objectAt(value, id);
    const properties = isObject(Properties) ? Properties : {};
    const kind = DOCUMENTS[String(Type)];
    const documents = [
      ...(kind === undefined ? [] : [{ kind, document: properties['PolicyDocument'] }]),
      ...(Type === 'AWS::KMS::Key' ? [{ kind: 'resource' as const, document: properties['KeyPolicy'] }] : []),
      ...(Type === 'AWS::IAM::Role' ? inlinePolicies(properties) : []),
    ];
    return documents.flatMap(({ kind: of, document }) =>
      statementsIn(document).flatMap((statement) =>
        faultsOf(statement, resources, of).map((fault) => `${fault} (${id})`),
      ),
    );
  });
  return [...new Set(found)].sort();
}

function inlinePolicies({ Policies }: JsonObject) {
  return listOf(Policies ?? []).map((policy) => ({
    kind: 'identity' as const,
    document: objectAt(policy, 'policy')['PolicyDocument'],
  }));
}

function statementsIn(document: Json | undefined): readonly JsonObject[] {
  return listOf(objectAt(document, 'PolicyDocument')['Statement']).map((value) => objectAt(value, 'statement'));
}

function faultsOf(statement: JsonObject, resources: JsonObject, kind: 'identity' | 'resource'): string[] {
  const arns = listOf(statement['Resource']).map((resource) => resolved(resource, resources));
  const keys = Object.values(isObject(statement['Condition']) ? statement['Condition'] : {}).flatMap((tests) =>
    Object.keys(objectAt(tests, 'condition')),
  );
  const names = listOf(statement['Action']).map(String);
  const faults = names.flatMap((name) => {
    const actions = actionsOf(name);
    if (actions.length === 0) return [`${name} is no action`];
    return actions.flatMap((action) => [
      ...keys.filter((key) => !isSupported(key, action)).map((key) => `${name} has no condition key ${key}`),
      // What CDK allows by a pattern is for some of the actions only.
      ...(kind === 'identity' && !name.includes('*') ? missingResources(name, action, arns) : []),
    ]);
  });
  if (kind === 'resource') return faults;
  const taken = names.flatMap(actionsOf).flatMap(({ arns: patterns }) => patterns);
  const strange = arns.filter((arn) => arn !== '*' && !taken.some(({ pattern }) => isOfType(arn, pattern)));
  return [...faults, ...strange.map((arn) => `${names.join(', ')} takes no resource ${arn}`)];
}

function isSupported(key: string, { conditionKeys }: Action): boolean {
  const name = key.toLowerCase();
  return GLOBAL_KEYS.has(name) || conditionKeys.some((pattern) => overlap(name, pattern.toLowerCase()));
}

/** Keys that AWS sets for every action. */
const GLOBAL_KEYS = new Set(['aws:securetransport', 'aws:sourcearn', 'aws:sourceaccount', 'aws:principalorgid']);

function missingResources(name: string, { arns: types }: Action, arns: readonly string[]): string[] {
  if (types.length === 0) return arns.includes('*') ? [] : [`${name} has no resources: it needs *`];
  return types
    .filter(({ required, pattern }) => required && !arns.some((arn) => isOfType(arn, pattern)))
    .map(({ type }) => `${name} needs a resource of type ${type}`);
}

/** Whether some ARN of the type is meant. Only what follows the account may contain a colon. */
function isOfType(arn: string, pattern: string): boolean {
  if (arn === '*') return true;
  const parts = (text: string) => [...text.split(':', 5), text.split(':').slice(5).join(':')];
  const [ours, theirs] = [parts(arn), parts(pattern)];
  return ours.every((part, i) => overlap(part, theirs[i] ?? ''));
}

const compared = new Map<string, boolean>();

/** Whether there is a text that two patterns with `*` match, both. */
function overlap(a: string, b: string): boolean {
  if (a === '' || b === '') return /^\**$/.test(a + b);
  const pair = `${a} ${b}`;
  const found =
    compared.get(pair) ??
    (a[0] === '*'
      ? overlap(a.slice(1), b) || overlap(a, b.slice(1))
      : b[0] === '*'
        ? overlap(b, a)
        : a[0] === b[0] && overlap(a.slice(1), b.slice(1)));
  compared.set(pair, found);
  return found;
}

/** The actions that a name stands for, which may have a `*`. */
function actionsOf(name: string): readonly Action[] {
  const [prefix = '', called = ''] = name.toLowerCase().split(':');
  const actions = services.get(prefix) ?? readService(prefix);
  services.set(prefix, actions);
  return [...actions].filter(([key]) => overlap(called, key)).map(([, action]) => action);
}

function readService(prefix: string): ReadonlyMap<string, Action> {
  const read = (folder: string) => JSON.parse(readFileSync(join(IAM_DATA, folder, `${prefix}.json`), 'utf8'));
  const types: Readonly<Record<string, { readonly arn: string }>> = read('resourceTypes');
  const actions: Readonly<Record<string, ActionEntry>> = read('actions');
  return new Map(
    Object.entries(actions).map(([key, { conditionKeys, resourceTypes }]) => [
      key,
      {
        conditionKeys: [...conditionKeys, ...resourceTypes.flatMap((type) => type.conditionKeys)].map(asPattern),
        arns: resourceTypes.map(({ name, required }) => ({
          type: name,
          required,
          pattern: asPattern(types[name.toLowerCase()]?.arn ?? ''),
        })),
      },
    ]),
  );
}

/** `arn:${Partition}:sqs:…` → `arn:*:sqs:…` */
const asPattern = (text: string): string => text.replaceAll(/\$\{[^}]*\}/g, '*');

const REGION = 'us-east-1';
const ACCOUNT = '123456789012';
const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::Region': REGION,
  'AWS::AccountId': ACCOUNT,
  'AWS::Partition': 'aws',
  'AWS::URLSuffix': 'amazonaws.com',
};

/** How the ARN of a resource begins that the template makes. */
const ARNS: Readonly<Record<string, string>> = {
  'AWS::SQS::Queue': `arn:aws:sqs:${REGION}:${ACCOUNT}:`,
  'AWS::SNS::Topic': `arn:aws:sns:${REGION}:${ACCOUNT}:`,
  'AWS::DynamoDB::Table': `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/`,
  'AWS::KMS::Key': `arn:aws:kms:${REGION}:${ACCOUNT}:key/`,
  'AWS::Lambda::Function': `arn:aws:lambda:${REGION}:${ACCOUNT}:function:`,
  'AWS::SecretsManager::Secret': `arn:aws:secretsmanager:${REGION}:${ACCOUNT}:secret:`,
  'AWS::IAM::Role': `arn:aws:iam::${ACCOUNT}:role/`,
  'AWS::S3::Bucket': 'arn:aws:s3:::',
  'AWS::Events::EventBus': `arn:aws:events:${REGION}:${ACCOUNT}:event-bus/`,
};

/** The text that CloudFormation makes of a value, with ids in the place of names. */
function resolved(value: Json | undefined, resources: JsonObject): string {
  if (!isObject(value)) return String(value);
  const { Ref: ref, 'Fn::GetAtt': attribute, 'Fn::Join': join_ } = value;
  if (typeof ref === 'string') return PSEUDO[ref] ?? refTo(ref, resources);
  if (Array.isArray(attribute)) return attributeOf(String(attribute[0]), String(attribute[1]), resources);
  if (Array.isArray(join_)) {
    return listOf(join_[1])
      .map((part) => resolved(part, resources))
      .join(String(join_[0]));
  }
  return JSON.stringify(value);
}

function typeOf(id: string, resources: JsonObject): string {
  return isObject(resources[id]) ? String(resources[id]['Type']) : '';
}

/** A secret and a topic are referred to by their ARN, other resources by their name. */
function refTo(id: string, resources: JsonObject): string {
  const type = typeOf(id, resources);
  if (type === 'AWS::SecretsManager::Secret') return `${ARNS[type]}${id}-AbCdEf`;
  return type === 'AWS::SNS::Topic' ? `${ARNS[type]}${id}` : id;
}

function attributeOf(id: string, name: string, resources: JsonObject): string {
  const type = typeOf(id, resources);
  const arn = `${ARNS[type] ?? ''}${id}`;
  if (type === 'AWS::Logs::LogGroup' && name === 'Arn') return `arn:aws:logs:${REGION}:${ACCOUNT}:log-group:${id}:*`;
  if (name === 'StreamArn') return `${arn}/stream/2026-01-01T00:00:00.000`;
  return name === 'Arn' || name === 'TopicArn' ? arn : id;
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}
