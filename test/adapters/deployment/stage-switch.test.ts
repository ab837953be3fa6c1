import { marshall } from '@aws-sdk/util-dynamodb';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { stageSwitch } from '../../../src/adapters/deployment/stage-switch.ts';
import { type Loopback, startLoopback } from '../../support/loopback.ts';

const TYPES = { stack: 'CloudFormation::Stack', rule: 'Events::Rule', source: 'Lambda::EventSourceMapping' } as const;
type Resource = readonly [type: keyof typeof TYPES, id: string];
interface World {
  /** Of a stack that is not among them, CloudFormation says that it does not exist. */
  readonly stacks: Readonly<Record<string, readonly Resource[]>>;
  /** By its name: description and state. */
  readonly rules?: Readonly<Record<string, readonly [description: string, state: string]>>;
  /** By its id: the function. */
  readonly sources?: Readonly<Record<string, string>>;
}

const FUNCTIONS: Readonly<Record<string, string>> = {
  reconciler: 'notification-retry prod: takes in what was missed',
  sender: 'notification-retry prod: sends',
  theirs: 'Reads the orders of the shop',
};
const OURS = 'notification-retry prod: sweep';

let aws: Loopback;
let item: Record<string, unknown> | undefined;
const turned: string[] = [];
beforeEach(async () => {
  aws = await startLoopback();
  item = undefined;
  turned.length = 0;
  const env = {
    AWS_ENDPOINT_URL: aws.url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
  };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await aws.close();
});

const NOT_FOUND = [404, { __type: 'ResourceNotFoundException', message: 'gone' }] as const;

function has({ stacks, rules = {}, sources = {} }: World) {
  aws.answer = (response, { method, path, headers, body }): unknown => {
    const say = ([status, answer]: readonly [number, object]) =>
      response
        .writeHead(status, {
          'content-type': 'application/json',
          'x-amzn-errortype': status === 404 ? NOT_FOUND[1].__type : '',
        })
        .end(JSON.stringify(answer));
    const [, rule] = String(headers['x-amz-target'] ?? '').split('.');
    if (rule !== undefined) {
      const { Name } = JSON.parse(body) as { Name: string };
      const [Description, State] = rules[Name] ?? [];
      if (State === undefined) return say(NOT_FOUND);
      if (rule !== 'DescribeRule') turned.push(`${rule} ${Name}`);
      return say([200, { Name, Description, State, ScheduleExpression: 'rate(1 minute)' }]);
    }
    const [, kind, id = ''] = /(functions|event-source-mappings)\/([\w-]+)/.exec(path) ?? [];
    if (kind === 'functions') return say([200, { Description: FUNCTIONS[id] }]);
    if (kind !== undefined) {
      if (sources[id] === undefined) return say(NOT_FOUND);
      if (method === 'PUT') turned.push(`${JSON.parse(body).Enabled ? 'Enable' : 'Disable'} ${id}`);
      return say([200, { UUID: id, State: 'Enabled', FunctionArn: sources[id] }]);
    }
    const resources = stacks[new URLSearchParams(body).get('StackName') ?? ''];
    const members = resources?.map(
      ([type, one]) =>
        `<member><ResourceType>AWS::${TYPES[type]}</ResourceType><PhysicalResourceId>${one}</PhysicalResourceId></member>`,
    );
    const error = '<Error><Code>ValidationError</Code><Message>Stack with id x does not exist</Message></Error>';
    return response
      .writeHead(members ? 200 : 400, { 'content-type': 'text/xml' })
      .end(
        members
          ? `<R><ListStackResourcesResult><StackResourceSummaries>${members.join('')}</StackResourceSummaries></ListStackResourcesResult></R>`
          : `<ErrorResponse>${error}</ErrorResponse>`,
      );
  };
  const dynamodb = {
    send: async ({ input }: { input: { UpdateExpression?: string } }) => {
      if (input.UpdateExpression === undefined) return { Item: item && marshall(item), ConsumedCapacity: {} };
      if (input.UpdateExpression.startsWith('REMOVE')) item = undefined;
      return {};
    },
  };
  const deployment = { clients: {}, tables: { pipeline_state: 'state' }, reconciler: 'reconciler' };
  return stageSwitch({ stage: 'app', local: false, dynamodb, deployment } as never);
}

it("stops what is the stage's own: in nested stacks and those of parts, and nothing else of a team's stack", async () => {
  const { stop } = await has({
    stacks: {
      app: [
        ['rule', 'sweep'],
        ['rule', 'billing'],
        ['rule', 'off'],
        ['source', 'orders'],
        ['stack', 'nested'],
      ],
      nested: [['source', 'lane']],
      'app-monitoring': [['rule', 'monitor']],
    },
    rules: {
      sweep: [OURS, 'ENABLED'],
      off: [OURS, 'DISABLED'],
      monitor: ['notification-retry prod: monitor', 'ENABLED'],
      billing: ['Bills customers', 'ENABLED'],
    },
    sources: { lane: 'sender', orders: 'theirs' },
  });
  expect(await stop()).toEqual({ rules: ['sweep', 'monitor'], event_sources: ['lane'], gone: [] });
  expect(turned).toEqual(['Disable lane', 'DisableRule sweep', 'DisableRule monitor']);
});

it('does not say that a stage was stopped of which it finds nothing', async () => {
  const { stop } = await has({ stacks: { app: [['rule', 'billing']] }, rules: { billing: ['Bills', 'ENABLED'] } });
  await expect(stop()).rejects.toThrow('no schedule and no event source');
  expect(turned).toEqual([]);
});

it('stops and starts what is left where a rule or an event source was deleted, and says which', async () => {
  const world = {
    stacks: {
      app: [
        ['rule', 'sweep'],
        ['rule', 'old'],
        ['source', 'lost'],
      ],
    },
    rules: { sweep: [OURS, 'ENABLED'] },
  } as const;
  expect(await (await has(world)).stop()).toEqual({ rules: ['sweep'], event_sources: [], gone: ['old', 'lost'] });
  item = { rules: ['old', 'sweep'], event_sources: ['lost'], stopped_at: '2026-11-28T03:00:00.000Z' };
  const { start } = await has(world);
  expect(await start()).toMatchObject({ gone: ['lost', 'old'] });
  expect(turned).toEqual(['DisableRule sweep', 'EnableRule sweep']);
  await expect(start()).rejects.toThrow('Nothing of this stage was stopped');
});
