import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { type Json, type JsonObject, listAt, objectAt } from '../../support/json.ts';
import type { SynthesizedStack } from './assembly.ts';
import { apiDestinationFrom, type EventRulePlan, eventRulesFrom } from './event-rules.ts';
import { mappingFrom, type QueueMappingPlan, type StreamMappingPlan } from './event-sources.ts';
import { type FunctionPlan, functionFrom } from './functions.ts';
import { type HttpApiPlan, httpApiFrom } from './http-apis.ts';
import { resolve } from './intrinsics.ts';
import { type QueuePlan, queueFrom } from './queues.ts';
import { localReferences, nameInArn, type Place, physicalName } from './references.ts';
import { type SchedulePlan, schedulesOfRule, schedulesOfScheduler } from './schedules.ts';

/** The resources of a stack that run locally, with every reference resolved. */
export interface LocalPlan {
  readonly tables: readonly CreateTableCommandInput[];
  /** Dead-letter queues come before the queues that name them. */
  readonly queues: readonly QueuePlan[];
  /** Names of the SNS topics. */
  readonly topics: readonly string[];
  readonly functions: readonly FunctionPlan[];
  readonly queueMappings: readonly QueueMappingPlan[];
  readonly streamMappings: readonly StreamMappingPlan[];
  readonly schedules: readonly SchedulePlan[];
  readonly eventRules: readonly EventRulePlan[];
  /** The kinds of events that each configuration set of SES publishes, by its name. */
  readonly configurationSets: Readonly<Record<string, readonly string[]>>;
  readonly httpApi: HttpApiPlan;
  /** The stack's outputs by their logical id. */
  readonly outputs: Readonly<Record<string, string>>;
}

/** Types that do work on AWS and that the runtime does not support. To ignore them would run a different system. */
const NEEDED_BUT_UNKNOWN = [
  'AWS::StepFunctions::StateMachine',
  'AWS::Pipes::Pipe',
  'AWS::Kinesis::Stream',
  'AWS::RDS::DBInstance',
  'AWS::ECS::Service',
];

/** @throws Error that names the resource which cannot be run */
export function planFrom(stack: SynthesizedStack, place: Place): LocalPlan {
  const references = localReferences(stack, place);
  const ofType = (...types: string[]) =>
    Object.entries(stack.resources)
      .filter(([, resource]) => types.includes(String(resource['Type'])))
      .map(([id, resource]) => ({
        id,
        name: physicalName(stack, id, resource),
        metadata: objectAt(resource['Metadata'] ?? {}, `${id}.Metadata`),
        properties: () => resolvedProperties(id, resource['Properties'] ?? {}),
      }));
  const resolvedProperties = (id: string, properties: Json): JsonObject =>
    objectAt(resolve(properties, references, id), `${id}.Properties`);

  const named = (type: string) =>
    ofType(type).map(({ id, name, properties }) => ({ id, ref: name, properties: properties() }));

  const [unknown] = [
    ...ofType(...NEEDED_BUT_UNKNOWN),
    ...ofType('AWS::SNS::Subscription').filter((one) => needsStandIn(one.properties())),
  ];
  if (unknown !== undefined) {
    const type = String(stack.resources[unknown.id]?.['Type']);
    throw new Error(
      `${unknown.id} is an ${type}, which the local runtime cannot run: add it to src/local/emulator/template`,
    );
  }
  const destinationNamed = (destination: string) => {
    const found = ofType('AWS::Events::ApiDestination').find(({ name }) => name === destination);
    if (found === undefined) return undefined;
    const connection = nameInArn(String(found.properties()['ConnectionArn']));
    const of = ofType('AWS::Events::Connection').find(({ name }) => name === connection);
    return apiDestinationFrom(found.id, found.properties(), of?.properties() ?? {});
  };
  const mappings = ofType('AWS::Lambda::EventSourceMapping')
    .map(({ id, properties }) => mappingFrom(id, properties()))
    .filter((mapping) => mapping !== undefined);
  return {
    tables: ofType('AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable').map((one) =>
      tableFrom(one.name, one.properties()),
    ),
    queues: ofType('AWS::SQS::Queue')
      .map((one) => queueFrom(one.name, one.properties()))
      .sort((one, other) => Number(one.deadLetterQueue !== undefined) - Number(other.deadLetterQueue !== undefined)),
    topics: ofType('AWS::SNS::Topic').map(({ name }) => name),
    // A function without a bundled asset is a helper of the CDK, such as the one that sets log retention.
    functions: ofType('AWS::Lambda::Function')
      .filter((one) => one.metadata['aws:asset:path'] !== undefined && one.metadata['aws:asset:is-bundled'] !== false)
      .map((one) => functionFrom(one.name, one.properties(), one.metadata, stack.directory)),
    queueMappings: mappings.filter((mapping) => mapping.source === 'queue'),
    streamMappings: mappings.filter((mapping) => mapping.source === 'stream'),
    schedules: [
      ...ofType('AWS::Events::Rule').flatMap((one) => schedulesOfRule(one.id, one.properties())),
      ...ofType('AWS::Scheduler::Schedule').flatMap((one) => schedulesOfScheduler(one.id, one.properties())),
    ],
    eventRules: ofType('AWS::Events::Rule').flatMap((one) =>
      eventRulesFrom(one.id, one.properties(), destinationNamed),
    ),
    configurationSets: Object.fromEntries(
      ofType('AWS::SES::ConfigurationSetEventDestination').map(({ id, properties }) => {
        const { ConfigurationSetName: set, EventDestination: destination } = properties();
        const kinds = objectAt(destination, `${id}.EventDestination`)['MatchingEventTypes'];
        return [String(set), listAt(kinds, `${id}.MatchingEventTypes`).map(String)];
      }),
    ),
    httpApi: httpApiFrom(
      named('AWS::ApiGatewayV2::Route'),
      named('AWS::ApiGatewayV2::Integration'),
      named('AWS::ApiGatewayV2::Authorizer'),
      named('AWS::ApiGatewayV2::Api'),
    ),
    outputs: Object.fromEntries(
      Object.entries(stack.outputs).map(([id, output]) => [
        id,
        String(resolve(output['Value'] ?? null, references, id)),
      ]),
    ),
  };
}

/** Protocols that reach persons. The runtime itself shows their messages. */
const PERSONAL_PROTOCOLS = ['email', 'email-json', 'sms'];

/** Whether a subscription would need a stand-in, because a program and not a person gets its messages. */
function needsStandIn(properties: JsonObject): boolean {
  return !PERSONAL_PROTOCOLS.includes(String(properties['Protocol']));
}

/**
 * CreateTable's input for a table of the template. Encryption, backups, tags and TTL have no effect on a stand-in and
 * are left out. Keys, indexes and stream are taken over unchanged.
 */
function tableFrom(name: string, properties: JsonObject): CreateTableCommandInput {
  const at = (key: string) => `${name}.${key}`;
  const stream = properties['StreamSpecification'];
  const input = {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: listAt(properties['AttributeDefinitions'], at('AttributeDefinitions')),
    KeySchema: listAt(properties['KeySchema'], at('KeySchema')),
    ...indexes('GlobalSecondaryIndexes', properties, at('GlobalSecondaryIndexes')),
    ...indexes('LocalSecondaryIndexes', properties, at('LocalSecondaryIndexes')),
    ...(stream === undefined
      ? {}
      : {
          StreamSpecification: {
            StreamEnabled: true,
            StreamViewType: objectAt(stream, at('StreamSpecification'))['StreamViewType'],
          },
        }),
  };
  // The template uses the names and values of CreateTable; the service checks them.
  return input as unknown as CreateTableCommandInput;
}

function indexes(key: string, properties: JsonObject, at: string): JsonObject {
  const all = listAt(properties[key], at);
  if (all.length === 0) return {};
  return {
    [key]: all.map((item) => {
      const index = objectAt(item, at);
      return { IndexName: index['IndexName'], KeySchema: index['KeySchema'], Projection: index['Projection'] };
    }),
  };
}

/** Whether a run waits for the stream's rows: not for what tells producers of them, whose bus may be down. */
export function isAwaited({ functions }: LocalPlan, { functionName }: StreamMappingPlan): boolean {
  const reader = functions.find(({ name }) => name === functionName);
  return reader?.environment['POWERTOOLS_SERVICE_NAME'] !== 'outcomes';
}
