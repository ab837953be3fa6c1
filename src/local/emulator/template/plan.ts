import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import * as v from 'valibot';
import { type Json, type JsonObject, object, objectAt, read } from '../../support/json.ts';
import type { SynthesizedStack } from './assembly.ts';
import { apiDestinationFrom, type EventRulePlan, eventRulesFrom } from './event-rules.ts';
import { mappingFrom, type QueueMappingPlan, type StreamMappingPlan } from './event-sources.ts';
import { type HttpApiPlan, httpApiFrom } from './http-apis.ts';
import { localReferences, nameInArn, type Place, physicalName, resolve } from './references.ts';

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

export interface FunctionPlan {
  readonly name: string;
  readonly codeDirectory: string;
  /** `file.export`, as Lambda writes it. */
  readonly handler: string;
  readonly timeoutSeconds: number;
  readonly memoryMegabytes: number;
  readonly environment: Readonly<Record<string, string>>;
}

export interface QueuePlan {
  readonly name: string;
  /** CreateQueue's attributes. */
  readonly attributes: Readonly<Record<string, string>>;
}

export interface SchedulePlan {
  readonly id: string;
  /** `cron(…)` or `rate(…)` in UTC, as on AWS. */
  readonly expression: string;
  readonly functionName: string;
  /** The event; undefined: EventBridge's scheduled event. */
  readonly input?: JsonObject;
}

/** Types that do work on AWS and that the runtime does not support. To ignore them would run a different system. */
const NEEDED_BUT_UNKNOWN = [
  'AWS::DynamoDB::GlobalTable',
  'AWS::StepFunctions::StateMachine',
  'AWS::Pipes::Pipe',
  'AWS::Kinesis::Stream',
  'AWS::RDS::DBInstance',
  'AWS::ECS::Service',
  'AWS::Scheduler::Schedule',
];

/** @throws Error that names the resource which cannot be run */
export function planFrom(stack: SynthesizedStack, place: Place): LocalPlan {
  const references = localReferences(stack, place);
  const ofType = (...types: string[]) =>
    Object.entries(stack.resources)
      .filter(([, resource]) => types.includes(String(resource['Type'])))
      .map(([id, resource]) => ({
        id,
        ref: physicalName(stack, id, resource),
        metadata: objectAt(resource['Metadata'] ?? {}, `${id}.Metadata`),
        // Only when it is read: what does not run here may use functions that cannot be resolved.
        get properties() {
          return objectAt(resolve(resource['Properties'] ?? {}, references, id), `${id}.Properties`);
        },
      }));
  const [unknown] = [
    ...ofType(...NEEDED_BUT_UNKNOWN),
    ...ofType('AWS::SNS::Subscription').filter((one) => needsStandIn(one.properties)),
  ];
  if (unknown !== undefined) {
    const type = String(stack.resources[unknown.id]?.['Type']);
    throw new Error(
      `${unknown.id} is an ${type}, which the local runtime cannot run: add it to src/local/emulator/template`,
    );
  }
  const destinationNamed = (destination: string) => {
    const found = ofType('AWS::Events::ApiDestination').find(({ ref }) => ref === destination);
    const connection = nameInArn(String(found?.properties['ConnectionArn']));
    const of = ofType('AWS::Events::Connection').find(({ ref }) => ref === connection);
    return found && apiDestinationFrom(found.id, found.properties, of?.properties ?? {});
  };
  const mappings = ofType('AWS::Lambda::EventSourceMapping').flatMap(
    ({ id, properties }) => mappingFrom(id, properties) ?? [],
  );
  const rules = ofType('AWS::Events::Rule');
  return {
    tables: ofType('AWS::DynamoDB::Table').map(({ ref, properties }) => tableFrom(ref, properties)),
    queues: ofType('AWS::SQS::Queue')
      .map(({ ref, properties }) => queueFrom(ref, properties))
      .sort((a, b) => Number('RedrivePolicy' in a.attributes) - Number('RedrivePolicy' in b.attributes)),
    topics: ofType('AWS::SNS::Topic').map(({ ref }) => ref),
    // A function without a bundled asset is a helper of the CDK, such as the one that sets log retention.
    functions: ofType('AWS::Lambda::Function')
      .filter(({ metadata }) => metadata['aws:asset:path'] !== undefined && metadata['aws:asset:is-bundled'] !== false)
      .map(({ ref, properties, metadata }) => functionFrom(ref, properties, metadata, stack.directory)),
    queueMappings: mappings.filter((mapping) => mapping.source === 'queue'),
    streamMappings: mappings.filter((mapping) => mapping.source === 'stream'),
    schedules: rules.flatMap(({ id, properties }) => schedulesFrom(id, properties)),
    eventRules: rules.flatMap(({ id, properties }) => eventRulesFrom(id, properties, destinationNamed)),
    configurationSets: Object.fromEntries(
      ofType('AWS::SES::ConfigurationSetEventDestination').map(({ id, properties }) => {
        const { ConfigurationSetName, EventDestination } = read(eventDestination, properties, id);
        return [ConfigurationSetName, EventDestination.MatchingEventTypes];
      }),
    ),
    httpApi: httpApiFrom(
      ofType('AWS::ApiGatewayV2::Route'),
      ofType('AWS::ApiGatewayV2::Integration'),
      ofType('AWS::ApiGatewayV2::Authorizer'),
      ofType('AWS::ApiGatewayV2::Api'),
    ),
    outputs: Object.fromEntries(
      Object.entries(stack.outputs).map(([id, { Value = null }]) => [id, String(resolve(Value, references, id))]),
    ),
  };
}

const eventDestination = v.object({
  ConfigurationSetName: v.string(),
  EventDestination: v.object({ MatchingEventTypes: v.array(v.string()) }),
});

/** Protocols that reach persons. The runtime itself shows their messages. */
const PERSONAL_PROTOCOLS = ['email', 'email-json', 'sms'];

/** Whether a subscription would need a stand-in, because a program and not a person gets its messages. */
function needsStandIn(properties: JsonObject): boolean {
  return !PERSONAL_PROTOCOLS.includes(String(properties['Protocol']));
}

/**
 * CreateTable's input for a table of the template. Encryption, backups, tags and TTL have no effect on a stand-in and
 * are left out. Keys, global indexes and stream are taken over unchanged.
 * @throws Error for a local index, which queries would not find here
 */
function tableFrom(TableName: string, properties: JsonObject): CreateTableCommandInput {
  const { AttributeDefinitions, KeySchema, GlobalSecondaryIndexes, StreamSpecification } = properties;
  if (properties['LocalSecondaryIndexes'] !== undefined) {
    throw new Error(
      `${TableName}.LocalSecondaryIndexes: the local runtime creates no local indexes: make it a global secondary index`,
    );
  }
  const indexes = read(v.optional(v.array(object), []), GlobalSecondaryIndexes, `${TableName}.GlobalSecondaryIndexes`);
  const input = {
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions,
    KeySchema,
    ...(indexes.length > 0 && {
      GlobalSecondaryIndexes: indexes.map(({ IndexName, KeySchema, Projection }) => {
        return { IndexName, KeySchema, Projection };
      }),
    }),
    ...(StreamSpecification !== undefined && {
      StreamSpecification: {
        StreamEnabled: true,
        ...objectAt(StreamSpecification, `${TableName}.StreamSpecification`),
      },
    }),
  };
  // The template uses the names and values of CreateTable; the service checks them.
  return input as unknown as CreateTableCommandInput;
}

/**
 * Attributes that change a queue's behaviour. Encryption and policies have no effect on a stand-in, and
 * ReceiveMessageWaitTimeSeconds none on the event sources, which long-poll with a wait of their own.
 */
const ATTRIBUTES = ['VisibilityTimeout', 'DelaySeconds', 'MaximumMessageSize', 'MessageRetentionPeriod'] as const;

/** @throws Error for a FIFO queue, which would lose its order here */
function queueFrom(name: string, properties: JsonObject): QueuePlan {
  if (String(properties['FifoQueue']) === 'true')
    throw new Error(`${name}.FifoQueue: the local runtime keeps no order within a queue: make it a standard queue`);
  // CloudFormation allows numbers, SQS wants texts.
  const given = ATTRIBUTES.flatMap((key) => (properties[key] === undefined ? [] : [[key, String(properties[key])]]));
  const { RedrivePolicy } = properties;
  if (RedrivePolicy !== undefined) given.push(['RedrivePolicy', JSON.stringify(RedrivePolicy)]);
  return { name, attributes: Object.fromEntries(given) };
}

const lambda = v.object({
  Handler: v.string(),
  Timeout: v.optional(v.number(), 3),
  MemorySize: v.optional(v.number(), 128),
  Environment: v.optional(v.object({ Variables: v.optional(v.record(v.string(), v.string()), {}) }), {}),
});

/** @throws Error that names the function and what is missing, such as an asset that was not bundled */
function functionFrom(name: string, properties: JsonObject, metadata: JsonObject, directory: string): FunctionPlan {
  const codeDirectory = join(directory, String(metadata['aws:asset:path']));
  if (!existsSync(codeDirectory)) throw new Error(`${name}: its bundle ${codeDirectory} is missing; synthesize again`);
  const { Handler: handler, Timeout, MemorySize, Environment } = read(lambda, properties, name);
  const environment = Environment.Variables ?? {};
  return { name, codeDirectory, handler, timeoutSeconds: Timeout, memoryMegabytes: MemorySize, environment };
}

const schedule = v.object({
  ScheduleExpression: v.optional(v.string()),
  State: v.optional(v.string()),
  Targets: v.optional(v.array(v.object({ Arn: v.string(), Input: v.optional(v.string()) })), []),
});

/** The schedules of an EventBridge rule, one per Lambda target. A rule with an event pattern has none. */
function schedulesFrom(id: string, properties: JsonObject): SchedulePlan[] {
  const { ScheduleExpression: expression, State, Targets } = read(schedule, properties, id);
  if (expression === undefined || State === 'DISABLED') return [];
  const called = Targets.filter(({ Arn }) => Arn.includes(':lambda:'));
  return called.map(({ Arn, Input }) => {
    const input = Input === undefined ? {} : { input: objectAt(JSON.parse(Input) as Json, `${id}.Targets.Input`) };
    return { id, expression, functionName: nameInArn(Arn), ...input };
  });
}

/** Whether a run waits for the stream's rows: not for what tells producers of them, whose bus may be down. */
export function isAwaited({ functions }: LocalPlan, { functionName }: StreamMappingPlan): boolean {
  const reader = functions.find(({ name }) => name === functionName);
  return reader?.environment['POWERTOOLS_SERVICE_NAME'] !== 'outcomes';
}
