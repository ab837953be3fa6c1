import { describe, expect, it } from 'vitest';
import type { AccountFacts } from '../../../src/adapters/deployment/account-facts.ts';
import { DeploymentNotFoundError } from '../../../src/adapters/deployment/deployment.ts';
import type { Finding, Holdings, Parts, Wanted } from '../../../src/application/preflight/finding.ts';
import { isReadable, preflight } from '../../../src/application/preflight/preflight.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { recordingTerminal } from '../../support/cli/recording-terminal.ts';

const GOOD: AccountFacts = {
  region: 'ap-northeast-1',
  bootstrap: 28,
  concurrency: 1_000,
  ses: { production: true, sending: true, per_day: 50_000, knows_sender: true },
};
const ALL: Wanted = {
  stage: 'dev',
  retain: false,
  channels: ['email', 'slack', 'teams', 'webhook'],
  api: true,
  newsletters: true,
  newsletter_senders: ['*@example.com'],
  outcomes: false,
  monitoring: true,
  console: false,
};
const { encryptionKeyArn: _, ...DEPLOYED } = ALL;
const HELD: Holdings = {
  ...DEPLOYED,
  work: { teams: 3, slack: 0 },
  mailings: true,
  unfinished: false,
  keys: true,
  writing: [],
  untold: 0,
  sealed: true,
  ties: { rules: [], subscribers: 0 },
};
const outputs = { ConsoleUrl: 'https://d111.cloudfront.net' };
const badOf = (facts: AccountFacts, wanted = ALL, held?: Holdings) =>
  preflight(facts, wanted, held).filter(({ state }) => state !== 'ok');

describe('the preflight', () => {
  it('refuses nothing where nothing is wrong, before and after a deployment', () => {
    expect(badOf(GOOD)).toEqual([]);
    const stack = { name: 'notification-retry-prod', status: 'UPDATE_COMPLETE', is_protected: true, outputs };
    expect(badOf({ ...GOOD, stack }, ALL, HELD)).toEqual([]);
  });

  it('warns a new account that wants the console on the web of CloudFront, until the stack is there', () => {
    const facts = { ...GOOD, concurrency: 10 };
    const checks = (wanted: Wanted, more: Partial<AccountFacts> = {}) =>
      badOf({ ...facts, ...more }, wanted).map(({ check, state }) => `${check} ${state}`);
    expect(checks({ ...ALL, console: true })).toContain('cloudfront warning');
    expect(checks(ALL)).not.toContain('cloudfront warning');
    expect(checks({ ...ALL, console: true }, { concurrency: 1_000 })).toEqual([]);
    const stack = { name: 'x', status: 'UPDATE_COMPLETE', is_protected: false, outputs };
    expect(checks({ ...ALL, console: true }, { stack })).not.toContain('cloudfront warning');
  });

  it.each<[string, Partial<AccountFacts>, string, string, string]>([
    ['a region', { region: undefined }, 'region', 'No region is set.', 'AWS_REGION'],
    [
      'credentials',
      { refused: 'Could not load credentials' },
      'credentials',
      'AWS cannot be asked: Could not load',
      'Sign in',
    ],
    [
      'a bootstrap',
      { bootstrap: 0 },
      'bootstrap',
      'The CDK is not bootstrapped here.',
      'cdk bootstrap aws://$(aws sts get-caller-identity --query Account --output text)/ap-',
    ],
    [
      'production access',
      { ses: { production: false, sending: true, per_day: 200, knows_sender: true } },
      'ses',
      'sandbox',
      'production access',
    ],
    [
      'a sender that SES knows',
      { ses: { production: true, sending: true, per_day: 9, knows_sender: false } },
      'ses',
      "SES has not verified the stage's sender",
      'Identities',
    ],
    [
      'more than ten functions at once',
      { concurrency: 10 },
      'lambda',
      'throttled messages end in the dead-letter',
      'Quotas',
    ],
    [
      'SES that sends',
      { ses: { production: true, sending: false, per_day: 9, knows_sender: true } },
      'ses',
      'SES has paused',
      'SES console',
    ],
  ])('says in one sentence that the account lacks %s, and what to do', (_, changes, check, says, remedy) => {
    const bad = badOf({ ...GOOD, ...changes });
    expect(bad).toMatchObject([
      { check, says: expect.stringContaining(says), remedy: expect.stringContaining(remedy) },
    ]);
    expect(bad[0]?.says.split('. ')).toHaveLength(1);
  });

  it('refuses a reservation of concurrency that the account does not have, as Lambda would after minutes', () => {
    const reserving = { ...ALL, account_limit: 1_000 };
    expect(badOf({ ...GOOD, concurrency: 400 }, reserving)).toMatchObject([
      { check: 'lambda', state: 'refused', says: expect.stringContaining('400 functions at once, and cdk.json') },
    ]);
    expect(badOf(GOOD, reserving)).toEqual([]);
  });

  it('asks nothing of SES where the stage has no e-mail', () => {
    const { ses: _, ...rest } = GOOD;
    expect(badOf(rest, { ...ALL, channels: ['webhook'] })).toEqual([]);
  });

  it.each(['ROLLBACK_COMPLETE', 'ROLLBACK_FAILED', 'DELETE_FAILED'])(
    'says the way out of %s, which the protection of the stack bars',
    (status) => {
      const stack = { name: 'notification-retry-prod', status, is_protected: true, outputs };
      expect(badOf({ ...GOOD, stack })).toMatchObject([
        {
          check: 'stack',
          state: 'refused',
          says: `notification-retry-prod is ${status}: it can only be deleted, and is protected.`,
          remedy: expect.stringMatching(
            /^aws cloudformation update-termination-protection .*; aws cloudformation delete-stack /,
          ),
        },
      ]);
      expect(isReadable(stack)).toBe(false);
    },
  );

  it.each<[string, Finding['state'], string | undefined, boolean]>([
    ['CREATE_COMPLETE', 'ok', undefined, true],
    ['UPDATE_ROLLBACK_COMPLETE', 'ok', undefined, true],
    ['IMPORT_COMPLETE', 'ok', undefined, true],
    ['REVIEW_IN_PROGRESS', 'ok', undefined, false],
    ['CREATE_IN_PROGRESS', 'warning', 'Wait', false],
    ['UPDATE_COMPLETE_CLEANUP_IN_PROGRESS', 'warning', 'Wait', true],
    ['DELETE_IN_PROGRESS', 'warning', 'Wait', true],
    ['UPDATE_ROLLBACK_FAILED', 'refused', 'aws cloudformation continue-update-rollback --stack-name S', true],
    ['CREATE_FAILED', 'refused', 'events', false],
  ])('says of a stack that is %s: %s', (status, state, remedy, readable) => {
    const stack = { name: 'S', status, is_protected: false, outputs: readable ? outputs : {} };
    const found = preflight({ ...GOOD, stack }, ALL).find(({ check }) => check === 'stack');
    expect(found).toMatchObject({ state, says: expect.stringContaining(`S is ${status}`) });
    expect(found?.remedy ?? '').toContain(remedy ?? '');
    expect(isReadable(stack)).toBe(readable && status !== 'DELETE_IN_PROGRESS');
  });

  it('takes the bootstrap that the CDK takes', () => {
    expect(badOf({ ...GOOD, bootstrap: 6 })).toEqual([]);
    expect(badOf({ ...GOOD, bootstrap: 5 })).toMatchObject([{ check: 'bootstrap', state: 'refused' }]);
  });

  it('only warns where a stage is deployed without it: its name may be another', () => {
    const stack = { name: 'notification-retry-prod', status: 'UPDATE_COMPLETE', is_protected: true, outputs };
    expect(badOf({ ...GOOD, bootstrap: 0, stack })).toMatchObject([{ check: 'bootstrap', state: 'warning' }]);
  });

  it('names remedies that are commands of the program', async () => {
    const wanted = { ...ALL, channels: ['email'], api: false, newsletters: false } as const;
    const remedies = badOf(GOOD, wanted, { ...HELD, unfinished: true }).map(({ remedy = '' }) =>
      remedy.replaceAll('…', ''),
    );
    const commands = remedies.flatMap((one) =>
      [...one.matchAll(/npm run ops -- ([^;,]+)/g)].map(([, args = '']) => args),
    );
    expect(commands).toContain('dlq drop --channel teams --all');
    expect(commands.length).toBeGreaterThan(6);
    for (const command of commands) {
      const { terminal, written } = recordingTerminal({});
      const findDeployment = async () => {
        throw new DeploymentNotFoundError('none');
      };
      const context = { terminal, env: {}, clock: () => new Date(), findDeployment } as never;
      expect({ command, code: await runProgram(command.split(' '), context) }).toEqual({ command, code: 1 });
      expect(written.err).toContain('none');
    }
  });

  it.each<[string, Partial<Parts>, string]>([
    ['a channel with rows or letters', { channels: ['email', 'slack', 'webhook'] }, 'drop teams, which has 3 rows'],
    ['keys', { api: false }, 'the API keys of producers'],
  ])('refuses a change that would drop %s', (_, changes, says) => {
    expect(badOf(GOOD, { ...ALL, ...changes }, HELD)).toMatchObject([
      { check: 'parts', state: 'refused', says: expect.stringContaining(says) },
    ]);
    expect(badOf(GOOD, { ...ALL, ...changes }, { ...HELD, work: {}, mailings: false, keys: false })).toEqual([]);
  });

  it.each<[string, Partial<Parts>, Partial<Holdings>, string[]]>([
    [
      'a bus to which rules listen, which AWS does not delete',
      { outcomes: false },
      { ties: { rules: ['billing', 'crm'], subscribers: 0 } },
      ['refused: The deployment would delete the bus of outcomes, to which rules listen: billing, crm.'],
    ],
    [
      'outcomes that are still to be told',
      { outcomes: false },
      { untold: 2 },
      ['refused: The deployment would drop what producers were not told: 2 entries of a queue.'],
    ],
    [
      'subscribers of alarms',
      { monitoring: false },
      { ties: { rules: [], subscribers: 3 } },
      ['warning: 3 subscribers would get no alarms and notices any more.'],
    ],
    [
      'the console',
      { console: false },
      {},
      ['warning: The console would be gone, and with a user pool of the stack everybody who signs in to it.'],
    ],
  ])('says that a change would end %s', (_, changes, held, says) => {
    const wanted = { ...ALL, outcomes: true, console: true };
    const deployed = { ...HELD, outcomes: true, console: true, ...held };
    const bad = badOf(GOOD, { ...wanted, ...changes }, deployed);
    expect(bad.map((one) => `${one.state}: ${one.says}`)).toEqual(says);
    expect(badOf(GOOD, wanted, deployed)).toEqual([]);
    const neither = { ...deployed, outcomes: false, monitoring: false, console: false };
    expect(badOf(GOOD, { ...wanted, ...changes }, neither)).toEqual([]);
  });

  it('says that what is retained is left behind', () => {
    expect(badOf(GOOD, { ...ALL, api: false, retain: true }, HELD)).toMatchObject([
      {
        says: 'The deployment would leave behind the API keys of producers, and start empty when it is switched on again.',
      },
    ]);
  });

  it.each<[Parts['newsletters'], Partial<Holdings>, string[]]>([
    ['data', {}, ['warning: The unsubscribe links of all newsletters sent so far would answer 404.']],
    [
      false,
      {},
      [
        'warning: The unsubscribe links of all newsletters sent so far would answer 404.',
        'refused: The deployment would delete the tables of newsletters, which hold something.',
      ],
    ],
    ['data', { unfinished: true }, ['refused: The deployment would stop newsletters halfway: some are unfinished.']],
    ['data', { mailings: false }, []],
    ['data', { newsletters: 'data' }, []],
    [
      false,
      { newsletters: 'data' },
      ['refused: The deployment would delete the tables of newsletters, which hold something.'],
    ],
    [true, { newsletters: 'data' }, []],
  ])('says what newsletters %j end, of a stage with %j', (newsletters, held, says) => {
    const bad = badOf(GOOD, { ...ALL, newsletters }, { ...HELD, ...held });
    expect(bad.map((one) => `${one.state}: ${one.says}`)).toEqual(says);
  });

  it.each([
    [
      'News <News@mail.example.com>',
      ['news@mail.example.com'],
      /News@mail\.example\.com: .*has news@mail\.example\.com/,
    ],
    ['news@mail.example.com', ['NEWS@mail.example.com'], /news@mail\.example\.com: .*has NEWS@mail\.example\.com/],
    ['news@other.example.com', ['news@mail.example.com'], /news@other\.example\.com: .*has neither it nor \*@other/],
    ['News@MAIL.example.com', ['News@mail.EXAMPLE.com'], undefined],
    ['News@mail.example.com', ['*@mail.example.com'], undefined],
  ])('names a newsletter from %s that SES may refuse where newsletter.senders is %j', (from, senders, says) => {
    const newsletters = [{ tenant_id: 'T1', newsletter_id: 'weekly', from }];
    const bad = badOf(GOOD, { ...ALL, newsletter_senders: senders }, { ...HELD, writing: newsletters });
    expect(bad.map(({ check, state }) => `${check} ${state}`)).toEqual(says ? ['senders warning'] : []);
    if (says) expect(bad[0]?.says).toMatch(says);
  });

  it('compares the domains of warming, too', () => {
    const sent = {
      tenant_id: 'T1',
      newsletter_id: 'weekly',
      from: 'News@a.example.com',
      fallback_domain: 'b.example.com',
    };
    const senders = ['News@a.example.com', 'news@b.example.com'];
    const bad = badOf(GOOD, { ...ALL, newsletter_senders: senders }, { ...HELD, writing: [sent] });
    expect(bad).toMatchObject([{ says: expect.stringMatching(/weekly of T1, .*News@b.*: .*has news@b/) }]);
  });

  it('names the stage that it judged', () => {
    expect(preflight(GOOD, { ...ALL, stage: 'prod' })).toContainEqual(
      expect.objectContaining({ check: 'stage', says: 'The stage is prod.' }),
    );
  });

  it('lets a channel go that has nothing', () => {
    expect(badOf(GOOD, { ...ALL, channels: ['email', 'teams', 'webhook'] }, HELD)).toEqual([]);
  });
});
