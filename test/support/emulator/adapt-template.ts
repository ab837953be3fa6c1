import { isObject, type Json, type JsonObject, objectAt } from '../../../src/local/support/json.ts';

/**
 * What the synthesized template needs so that ministack 1.5 runs it. Everything that differs from a deployment on AWS is in
 * this file. Each adaptation names the gap that it works around, and goes when the gap is closed.
 * @param issuer who signs the tokens of the console's users, if the template has the console
 */
export function adaptTemplate(template: JsonObject, issuer: string): JsonObject {
  const resources = objectAt(template['Resources'], 'Resources');
  const mathAlarms = idsOf(resources, isMathAlarm);
  const secrets = idsOf(resources, ({ Type }) => Type === 'AWS::SecretsManager::Secret');
  const removed = new Set([...mathAlarms, ...idsOf(resources, isByFunctionOfCdk)]);
  const kept = Object.fromEntries(Object.entries(resources).filter(([id]) => !removed.has(id)));
  return objectAt(
    rewrite({ ...template, Resources: kept }, (value) => {
      if (mathAlarms.has(attributeOf(value))) return `arn:aws:cloudwatch:us-east-1:000000000000:alarm:removed`;
      if (secrets.has(String(value['Ref']))) return { 'Fn::GetAtt': [String(value['Ref']), 'Id'] };
      if (isObject(value['FilterCriteria']))
        return { ...value, FilterCriteria: absentParents(value['FilterCriteria']) };
      if (value['Type'] === 'AWS::IAM::Policy') return adaptedPolicy(value);
      if (isObject(value['JwtConfiguration'])) return withIssuer(value, issuer);
      if (isObject(value['EventPattern'])) return { ...value, EventPattern: fromTests(value['EventPattern']) };
      if (value['Type'] === 'AWS::Lambda::Function') return adaptedFunction(value);
      return value;
    }),
    'template',
  );
}

/** Gap: alarms on an expression (`Metrics`) are refused. They are left out, and the dashboard names none of them. */
function isMathAlarm({ Type, Properties }: JsonObject): boolean {
  return Type === 'AWS::CloudWatch::Alarm' && isObject(Properties) && Properties['Metrics'] !== undefined;
}

/**
 * Gap: CDK's function that copies the console's page needs boto3 and an AWS CLI, which the emulator's Python has not. The
 * one that empties a bucket never answers: its answer goes to a URL of S3 that the emulator does not make.
 */
function isByFunctionOfCdk({ Type }: JsonObject): boolean {
  return Type === 'Custom::CDKBucketDeployment' || Type === 'Custom::S3AutoDeleteObjects';
}

/** Gap: `{"column":{"S":[{"exists":false}]}}` does not match a record without the column. On AWS it does (test/tools). */
function absentParents(criteria: JsonObject): JsonObject {
  const filters = criteria['Filters'];
  if (!Array.isArray(filters)) return criteria;
  const absent = JSON.stringify([{ exists: false }]);
  return {
    Filters: filters.map((filter: Json) => ({
      Pattern: String(objectAt(filter, 'filter')['Pattern']).replaceAll(`{"S":${absent}}`, absent),
    })),
  };
}

/**
 * Gap: a batch is authorized as an action of its own, such as `sqs:SendMessageBatch`, which IAM does not know. On AWS the
 * batch needs the single action. Rights to PartiQL and to move tasks are not bound to a table or queue, which
 * the emulator does not find in the request. To read an event source mapping is authorized as to list them.
 */
const BATCH_ACTIONS: Readonly<Record<string, string>> = {
  'sqs:SendMessage': 'sqs:SendMessageBatch',
  'sqs:DeleteMessage': 'sqs:DeleteMessageBatch',
  'sqs:ChangeMessageVisibility': 'sqs:ChangeMessageVisibilityBatch',
  'lambda:GetEventSourceMapping': 'lambda:ListEventSourceMappings',
};
const STATEMENTS: JsonObject = {
  Effect: 'Allow',
  Action: ['dynamodb:BatchExecuteStatement', 'dynamodb:ExecuteStatement'],
  Resource: '*',
};

/** A policy document that also allows the batch of each single action that it allows. */
export function withBatchActions(document: JsonObject): JsonObject {
  const statements = listOf(document['Statement']).map((statement) => objectAt(statement, 'statement'));
  const actionsOf = (statement: JsonObject) => listOf(statement['Action']).map(String);
  const adapted = statements.map((statement) => {
    const batches = actionsOf(statement).flatMap((action) => BATCH_ACTIONS[action] ?? []);
    return { ...statement, Action: [...actionsOf(statement), ...batches] };
  });
  const actions = statements.flatMap(actionsOf);
  const moves = actions.filter((action) => action.endsWith('MessageMoveTask') || action.endsWith('MessageMoveTasks'));
  return {
    ...document,
    Statement: [
      ...adapted,
      ...(actions.some((action) => action.includes(':PartiQL')) ? [STATEMENTS] : []),
      ...(moves.length > 0 ? [{ Effect: 'Allow', Action: moves, Resource: '*' }] : []),
    ],
  };
}

/** Gap: to send a mail is authorized without identity, configuration set and template. */
function anyIdentity(statement: JsonObject): JsonObject {
  return listOf(statement['Action']).some((action) => SENDING.has(String(action)))
    ? { ...statement, Resource: '*' }
    : statement;
}

const SENDING = new Set(['ses:SendEmail', 'ses:SendBulkEmail', 'ses:SendBulkTemplatedEmail']);

/**
 * Gap: the emulator sets no key for the sender of a mail, and none for the encryption context of a call of KMS. Their
 * conditions then hold if the key exists, but only for actions that have the key on AWS (test/tools/iam-reference.test.ts):
 * with another action such a condition allows nothing on AWS, and so it is here.
 */
const UNSET_KEYS: readonly { readonly key: RegExp; readonly actions: ReadonlySet<string> }[] = [
  { key: /^ses:FromAddress$/, actions: new Set(['ses:SendEmail', 'ses:SendBulkTemplatedEmail']) },
  { key: /^kms:EncryptionContext:/, actions: new Set(['kms:Decrypt', 'kms:Encrypt', 'kms:GenerateDataKey']) },
];

function whereKeysExist(statement: JsonObject): JsonObject {
  if (!isObject(statement['Condition'])) return statement;
  const actions = listOf(statement['Action']).map(String);
  const isUnset = (name: string) =>
    UNSET_KEYS.some(({ key, actions: having }) => key.test(name) && actions.every((action) => having.has(action)));
  const conditions = Object.entries(statement['Condition']).map(([operator, tests]) => {
    const unset = !operator.endsWith('IfExists') && Object.keys(objectAt(tests, operator)).every(isUnset);
    return [unset ? `${operator}IfExists` : operator, tests ?? null] as const;
  });
  return { ...statement, Condition: Object.fromEntries(conditions) };
}

/** Gap: a schedule of a group is authorized as one of the group `default`. On AWS the resource names the group. */
function anyGroup(statement: JsonObject): JsonObject {
  if (!listOf(statement['Action']).includes('scheduler:CreateSchedule')) return statement;
  return JSON.parse(JSON.stringify(statement).replaceAll(/:schedule\/[^/"]+\//g, ':schedule/default/'));
}

function adaptedPolicy(resource: JsonObject): JsonObject {
  const properties = objectAt(resource['Properties'], 'Properties');
  const document = withBatchActions(objectAt(properties['PolicyDocument'], 'PolicyDocument'));
  const Statement = listOf(document['Statement']).map((statement) =>
    whereKeysExist(anyIdentity(anyGroup(objectAt(statement, 'statement')))),
  );
  return { ...resource, Properties: { ...properties, PolicyDocument: { ...document, Statement } } };
}

/** The source of the events that a test puts in SES's place. */
export const TEST_SOURCE = 'test.ses';

/** Gap: SES publishes no events, and nobody but AWS may put events of `aws.ses`. The rules take those of the tests, too. */
function fromTests(pattern: JsonObject): JsonObject {
  return { ...pattern, source: [...listOf(pattern['source']), TEST_SOURCE] };
}

/** Gap: an input transformer takes the `log_id[0]` of a path for a name. So the events of the tests have it as a name, too. */
export function withIndexedNames(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => withIndexedNames(item));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, withIndexedNames(inner ?? null)] as const);
  const indexed = entries.flatMap(([name, inner]) => (Array.isArray(inner) ? [[`${name}[0]`, inner[0] ?? null]] : []));
  return Object.fromEntries([...entries, ...indexed]);
}

/** Not a gap: the issuer of these tests is on loopback, without TLS. A stage's configuration takes https only. */
function withIssuer(authorizer: JsonObject, issuer: string): JsonObject {
  const configuration = objectAt(authorizer['JwtConfiguration'], 'JwtConfiguration');
  return { ...authorizer, JwtConfiguration: { ...configuration, Issuer: issuer } };
}

/**
 * Not a gap: the receivers of these tests are on loopback, where a deployed sender refuses to post. Gap: the API's own
 * URL is below the emulator's address, `https://ID.execute-api.127.0.0.1:PORT`, which is no URL.
 */
function adaptedFunction(resource: JsonObject): JsonObject {
  const properties = objectAt(resource['Properties'], 'Properties');
  if (properties['Environment'] === undefined) return resource;
  const environment = objectAt(properties['Environment'], 'Environment');
  const variables = objectAt(environment['Variables'], 'Variables');
  const isSender = String(variables['POWERTOOLS_SERVICE_NAME']).startsWith('send-');
  const Variables = {
    ...variables,
    ...(isSender && { ALLOW_PRIVATE_TARGETS: 'true' }),
    ...(variables['API_URL'] !== undefined && { API_URL: 'https://api.your-domain.example' }),
  };
  return { ...resource, Properties: { ...properties, Environment: { ...environment, Variables } } };
}

function idsOf(resources: JsonObject, isMeant: (resource: JsonObject) => boolean): ReadonlySet<string> {
  return new Set(Object.entries(resources).flatMap(([id, resource]) => (isMeant(objectAt(resource, id)) ? [id] : [])));
}

/** The id that a `Fn::GetAtt` refers to, or nothing that is an id. */
function attributeOf(value: JsonObject): string {
  const [id] = listOf(value['Fn::GetAtt'] ?? '');
  return String(id);
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [value ?? null]);

/** A copy in which each object, from the innermost outwards, is replaced by what `change` makes of it. */
function rewrite(value: Json, change: (value: JsonObject) => Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => rewrite(item, change));
  if (!isObject(value)) return value;
  return change(Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rewrite(inner ?? null, change)])));
}
