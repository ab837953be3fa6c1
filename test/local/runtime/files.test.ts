import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Teardown } from '../../../src/local/processes/teardown.ts';
import { lockDirectory, takeDirectories } from '../../../src/local/runtime/directories.ts';
import { describeRuntime, removeEndpoints } from '../../../src/local/runtime/endpoints-file.ts';
import { prepareSecrets, SAMPLE_INTEGRATIONS } from '../../../src/local/runtime/secrets-file.ts';
import { localContext } from '../../../src/local/runtime/synthesize.ts';
import { writeWhole } from '../../../src/local/support/running.ts';
import { identityOf } from '../../../src/processes/process-identity.ts';
import { scratch } from '../../support/local/tiny-app.ts';

let directory: ReturnType<typeof scratch>;
beforeEach(() => {
  directory = scratch();
});
afterEach(() => directory.remove());

const lanes = { express: 'http://q/e', standard: 'http://q/s' };
const outputs = {
  NotificationLogTable: 'log',
  NotificationContentTable: 'content',
  NotificationRetryLogTable: 'retry',
  PipelineStateTable: 'state',
  ApiKeysTable: 'keys',
  NewslettersTable: 'newsletters',
  MembersTable: 'members',
  EmailsTable: 'emails',
  EmailBatchesTable: 'email_batches',
  EmailRecipientsTable: 'email_recipients',
  DataKeysTable: 'data-keys',
  AuditTable: 'audit',
  LaneQueues: JSON.stringify({ email: lanes, slack: lanes, teams: lanes, webhook: lanes }),
  DeadLetterQueues: JSON.stringify({
    email: 'http://q/d',
    slack: 'http://q/d',
    teams: 'http://q/d',
    webhook: 'http://q/d',
  }),
};
const endpoints = { dynamodb: 'd', sqs: 's', ses: 'm', api: 'a', console: 'c', simulator: 'x', outcomes: 'o' };
const rest = { endpoints, functions: {}, logs: '/logs', secrets_file: '/secrets' };

it('the directories of a runtime are closed to other users of the machine, also those that were there', async () => {
  const teardown = new Teardown();
  const [workDir, dataDir] = [join(directory.path, 'work'), join(directory.path, 'data')];
  mkdirSync(dataDir, { mode: 0o755 });
  takeDirectories({ workDir, dataDir }, teardown);
  await teardown.run();
  expect([workDir, dataDir].map((one) => statSync(one).mode & 0o777)).toEqual([0o700, 0o700]);
});

describe('the endpoints file', () => {
  it("has the contract's keys, taken from the stack's outputs", () => {
    const file = join(directory.path, 'sub', 'endpoints.json');
    writeWhole(file, describeRuntime(outputs, rest));
    const queues = { express: 'http://q/e', standard: 'http://q/s', dead_letter: 'http://q/d' };
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      pid: process.pid,
      region: 'us-east-1',
      endpoints,
      tables: {
        notification_log: 'log',
        notification_content: 'content',
        notification_retry_log: 'retry',
        pipeline_state: 'state',
        api_keys: 'keys',
        newsletters: 'newsletters',
        members: 'members',
        emails: 'emails',
        email_batches: 'email_batches',
        email_recipients: 'email_recipients',
        data_keys: 'data-keys',
      },
      queues: { email: queues, slack: queues, teams: queues, webhook: queues },
    });
  });

  it('names the output that a stack lacks', () => {
    const { NotificationLogTable: _, ...others } = outputs;
    expect(() => describeRuntime(others, rest)).toThrow(/NotificationLogTable.*missing/);
    expect(() => describeRuntime({ ...outputs, LaneQueues: '{"email":{}}' }, rest)).toThrow(
      /LaneQueues\.email\.express/,
    );
  });

  it('is removed by its own runtime only', () => {
    const file = join(directory.path, 'endpoints.json');
    writeWhole(file, { ...describeRuntime(outputs, rest), pid: process.ppid });
    removeEndpoints(file);
    expect(existsSync(file)).toBe(true);
    writeWhole(file, describeRuntime(outputs, rest));
    removeEndpoints(file);
    expect(existsSync(file)).toBe(false);
  });
});

describe("a directory's lock", () => {
  it('is refused while its holder runs, naming it and what to do', () => {
    const holder = identityOf(process.ppid);
    writeFileSync(join(directory.path, 'runtime.pid'), JSON.stringify(holder));
    expect(() => lockDirectory(directory.path)).toThrow(
      new RegExp(`already up in .* \\(pid ${process.ppid}\\).*kill ${process.ppid}`),
    );
  });

  it.each([
    ['whose pid another process has now', { ...identityOf(process.ppid), started: '1' }],
    [
      'of an older version whose pid another process has now',
      { pid: process.ppid, command: 'something else entirely' },
    ],
    ['that no longer runs', { ...identityOf(process.ppid), pid: 4_194_303 }],
    ['of an older version that no longer runs', { pid: 4_194_303, command: 'node main.ts' }],
  ])('is taken over from a holder %s', (_, holder) => {
    const file = join(directory.path, 'runtime.pid');
    writeFileSync(file, JSON.stringify(holder));
    const unlock = lockDirectory(directory.path);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid });
    unlock();
    expect(existsSync(file)).toBe(false);
  });
});

describe('the secrets file', () => {
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));

  it('gets keys and sample integrations, for its owner only', () => {
    const file = join(directory.path, 'secrets.json');
    prepareSecrets(file, 'http://127.0.0.1:1');
    const secrets = read(file);
    expect(Buffer.from(secrets.recipient_key, 'base64')).toHaveLength(32);
    expect(secrets.integrations[SAMPLE_INTEGRATIONS.teams]).toEqual({
      webhook_url: 'http://127.0.0.1:1/teams/ok',
      tenant_id: '*',
    });
    expect(secrets.integrations[SAMPLE_INTEGRATIONS.webhook].secrets[0]).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('keeps its keys and the changes of a user; only the URLs of the simulator change with it', () => {
    const file = join(directory.path, 'secrets.json');
    prepareSecrets(file, 'http://127.0.0.1:1');
    const before = read(file);
    before.integrations.mine = { token: 'xoxb-mine' };
    before.integrations[SAMPLE_INTEGRATIONS.slackRevoked] = { token: 'xoxb-new' };
    writeFileSync(file, JSON.stringify(before));
    prepareSecrets(file, 'http://127.0.0.1:2');
    const after = read(file);
    expect(after).toMatchObject({ recipient_key: before.recipient_key, recipient_hash_key: before.recipient_hash_key });
    expect(after.integrations).toEqual({
      ...before.integrations,
      [SAMPLE_INTEGRATIONS.teams]: { webhook_url: 'http://127.0.0.1:2/teams/ok', tenant_id: '*' },
      [SAMPLE_INTEGRATIONS.slackWebhook]: {
        webhook_url: 'http://127.0.0.1:2/slack/services/T000/B000/ok',
        tenant_id: '*',
      },
    });
  });

  it('is neither overwritten nor quoted when it cannot be parsed', () => {
    const file = join(directory.path, 'secrets.json');
    writeFileSync(file, '{"token":"xoxb-secret"');
    expect(() => prepareSecrets(file, 'http://127.0.0.1:1')).toThrow(`The secrets file ${file} is not JSON`);
    expect(readFileSync(file, 'utf8')).toBe('{"token":"xoxb-secret"');
  });
});

describe('the context for the local stage', () => {
  const cdkJson = (stages: Record<string, object>) => ({
    context: { flag: true, 'notification-retry': { stages: { ...stages } } },
  });

  it("is the app's own, with dev's configuration unless there is one for local", () => {
    expect(localContext(cdkJson({ dev: { a: 1 } }) as never)).toEqual({
      flag: true,
      stage: 'local',
      'notification-retry': {
        stages: { dev: { a: 1 }, local: { a: 1, newsletter: { uncertainMinutes: 1 }, stackPerPart: false } },
      },
    });
    expect(localContext(cdkJson({ dev: { a: 1 }, local: { a: 2 } }) as never)).toMatchObject({
      'notification-retry': { stages: { local: { a: 2 } } },
    });
  });

  it('has the parts that are asked for', () => {
    const localOf = (parts: 'everything' | 'least') =>
      (localContext(cdkJson({ dev: { a: 1 } }) as never, parts)['notification-retry'] as never)['stages']['local'];
    expect(localOf('everything')).toMatchObject({ a: 1, monitoring: 'full' });
    expect(localOf('least')).toMatchObject({ a: 1, channels: ['webhook'], api: false, newsletters: false });
  });

  it('lets a resend wait for a minute, unless the stage says how long', () => {
    const localOf = (newsletter: object) =>
      (localContext(cdkJson({ dev: { newsletter } }) as never)['notification-retry'] as never)['stages']['local'];
    expect(localOf({ batchConcurrency: 3 })).toMatchObject({
      newsletter: { uncertainMinutes: 1, batchConcurrency: 3 },
    });
    expect(localOf({ uncertainMinutes: 5 })).toMatchObject({ newsletter: { uncertainMinutes: 5 } });
  });
});
