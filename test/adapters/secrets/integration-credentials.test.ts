import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { createIntegrationCredentials } from '../../../src/adapters/secrets/integration-credentials.ts';
import { type SecretFault, SecretUnavailableError } from '../../../src/adapters/secrets/secret-source.ts';
import { slackCredential } from '../../../src/adapters/slack/sender.ts';
import { teamsCredential } from '../../../src/adapters/teams/sender.ts';
import { webhookCredential } from '../../../src/adapters/webhook/sender.ts';
import { createMemorySecrets } from '../../support/memory-secrets.ts';

const shape = v.object({ token: v.string() });
const owner = { tenant_id: 'T1', integration_config_id: 'IC001' };
/** By the API, rather than in a row of its writer's own. */
const chosen = { ...owner, chosen_by_tenant: true as const };

function credentials(secret: unknown) {
  const source = createMemorySecrets();
  source.secrets.set('prod/IC001', typeof secret === 'string' ? secret : JSON.stringify(secret));
  return createIntegrationCredentials(source, { prefix: 'prod/' });
}

describe('a credential', () => {
  it('is read from the secret of its integration', async () => {
    expect(await credentials({ token: 'x' }).load(shape, owner)).toEqual({ ok: true, credential: { token: 'x' } });
  });

  it('is none for a notification without integration', async () => {
    expect(await credentials({ token: 'x' }).load(shape, { tenant_id: 'T1' })).toEqual({
      ok: true,
      credential: undefined,
    });
  });

  it.each([
    ['the tenant itself', { tenant_id: 'T1' }, true],
    ['every tenant', { tenant_id: '*' }, true],
    ['nobody', {}, false],
    ['another one', { tenant_id: 'T2' }, false],
  ])(
    'that names %s is usable for notifications of a tenant only if it names that tenant or all',
    async (_, named, usable) => {
      const loaded = credentials({ token: 'x', ...named });
      expect(await loaded.mayUse(chosen)).toBe(usable);
      expect(await loaded.load(shape, chosen)).toMatchObject({ ok: usable });
      expect(await loaded.mayUse(chosen)).toBe(usable);
    },
  );

  it('of another tenant looks missing to a tenant that chose it', async () => {
    const none = createIntegrationCredentials(createMemorySecrets(), { prefix: 'prod/' });
    const missing = await none.load(shape, chosen);
    expect(missing).toMatchObject({ ok: false, error_type: 'AUTH_FAILED' });
    expect(await none.load(shape, chosen, { optional: true })).toEqual(missing);
    expect(await none.mayUse(chosen)).toBe(false);
    for (const secret of [{ token: 'x', tenant_id: 'T2' }, { tenant_id: 'T2', tokn: 'x' }, { token: 'x' }]) {
      expect(await credentials(secret).load(shape, chosen)).toEqual(missing);
      expect(await credentials(secret).load(shape, chosen, { optional: true })).toEqual(missing);
    }
  });

  it('counts as usable while its owner is unknown', async () => {
    const source = { get: () => Promise.reject(new SecretUnavailableError('temporary', 'not now')) };
    expect(await createIntegrationCredentials(source, { prefix: '' }).mayUse(chosen)).toBe(true);
  });

  it('that names its tenant is for that tenant only', async () => {
    const loaded = credentials({ token: 'x', tenant_id: 'T1' });
    expect(await loaded.load(shape, owner)).toMatchObject({ ok: true });
    expect(await loaded.load(shape, { ...owner, tenant_id: 'T2' })).toMatchObject({
      ok: false,
      error_type: 'PERMISSION_DENIED',
      message: 'foreign_secret: another tenant owns the secret prod/IC001',
    });
  });

  describe('that was refused', () => {
    function refusedWith(secrets: Readonly<Record<string, unknown>>) {
      const source = createMemorySecrets(secrets);
      const clock = { ms: 0 };
      const loaded = createIntegrationCredentials(source, { prefix: '' }, () => clock.ms);
      return { source, clock, loaded };
    }

    it('and repaired is read past the cache, and the next load has it', async () => {
      const { source, loaded } = refusedWith({ IC001: { token: 'old' } });
      await loaded.load(shape, owner);
      source.secrets.set('IC001', '{"token":"new"}');
      expect(await loaded.load(shape, owner)).toMatchObject({ credential: { token: 'old' } });
      expect(await loaded.refresh(owner)).toBe(true);
      expect(await loaded.load(shape, owner)).toMatchObject({ credential: { token: 'new' } });
      expect(await loaded.refresh(owner)).toBe(false);
    });

    it.each([
      ['missing', undefined, '{"token":"new"}'],
      ['malformed', '{', '{"token":"new"}'],
    ])('because it was %s counts as another once it is there', async (_, before, after) => {
      const { source, loaded } = refusedWith({});
      if (before) source.secrets.set('IC001', before);
      expect(await loaded.load(shape, owner)).toMatchObject({ error_type: 'AUTH_FAILED' });
      source.secrets.set('IC001', after);
      expect(await loaded.refresh(owner)).toBe(true);
    });

    it('is read once in 30 seconds, however many deliveries it was refused to, and each hears of the change', async () => {
      const { source, clock, loaded } = refusedWith({ IC001: { token: 'old' } });
      const batch = Array.from({ length: 10 }, () => ({ ...owner }));
      await Promise.all(batch.map((delivery) => loaded.load(shape, delivery)));
      source.secrets.set('IC001', '{"token":"new"}');
      const first = batch.slice(0, 9);
      expect(await Promise.all(first.map(loaded.refresh))).toEqual(first.map(() => true));
      clock.ms = 29_999;
      expect(await Promise.all(batch.slice(9).map(loaded.refresh))).toEqual([true]);
      expect(source.fresh).toBe(1);
      clock.ms = 30_000;
      expect(await loaded.refresh({ ...owner })).toBe(true);
      expect(source.fresh).toBe(2);
    });

    it('is not read where there is no integration', async () => {
      const { source, loaded } = refusedWith({});
      expect(await loaded.refresh({ tenant_id: 'T1' })).toBe(false);
      expect(await loaded.refresh({ tenant_id: 'T1', integration_config_id: 'no such/name' })).toBe(false);
      expect(source.fresh).toBe(0);
    });

    it('stays what it was while the source does not answer', async () => {
      let down = false;
      const get = async () => {
        if (down) throw new SecretUnavailableError('temporary', 'not now');
        return '{"token":"old"}';
      };
      const loaded = createIntegrationCredentials({ get }, { prefix: '' });
      await loaded.load(shape, owner);
      down = true;
      expect(await loaded.refresh(owner)).toBe(false);
    });
  });

  it.each([
    ['not json: hunter2', 'bad_secret: not a JSON object: the secret prod/IC001'],
    [['hunter2'], 'bad_secret: not a JSON object: the secret prod/IC001'],
    [{ tokn: 'hunter2' }, 'token is missing'],
    [{ token: { a: 'hunter2' } }, 'token must be string'],
    [{ token: 'x', tenant_id: { a: 'hunter2' } }, 'tenant_id must be'],
    [{ token: 'x', retry: { base_interval_seconds: 'hunter2' } }, 'retry.base_interval_seconds must be'],
    [{ token: 'x', retry: { max_retries: 1.5 } }, 'retry.max_retries must be a whole number from 0 to 100'],
    [{ token: 'x', retry: { max_attempts: 3 } }, 'retry.max_attempts is not a known field'],
  ])('that is malformed as %j is AUTH_FAILED, with name and field but without the value', async (secret, message) => {
    const answer = await credentials(secret).load(shape, owner);
    expect(answer).toMatchObject({ ok: false, error_type: 'AUTH_FAILED', message: expect.stringContaining(message) });
    expect(JSON.stringify(answer)).not.toContain('hunter2');
  });

  it.each([
    [slackCredential, {}, 'must have token or webhook_url'],
    [webhookCredential, { secret: 'hunter2' }, 'secret is not a known field'],
    [
      webhookCredential,
      { secrets: ['hunter2'] },
      'secrets.0 must be "whsec_" followed by the base64 of 24 to 64 bytes',
    ],
    [teamsCredential, {}, 'webhook_url is missing'],
  ])('of a channel says what is wrong: case %#', async (channelShape, secret, message) => {
    const answer = await credentials(secret).load<unknown>(channelShape, owner);
    expect(answer).toMatchObject({ error_type: 'AUTH_FAILED', message: expect.stringContaining(message) });
    expect(JSON.stringify(answer)).not.toContain('hunter2');
  });

  it('that is missing is AUTH_FAILED, unless it is optional', async () => {
    const loaded = createIntegrationCredentials(createMemorySecrets(), { prefix: 'prod/' });
    expect(await loaded.load(shape, owner)).toMatchObject({
      error_type: 'AUTH_FAILED',
      message: 'no_secret: there is no secret prod/IC001',
    });
    expect(await loaded.load(shape, owner, { optional: true })).toEqual({ ok: true, credential: undefined });
  });

  it.each(['', 'a b', '../x', 'x'.repeat(101)])('is not read under the id %j', async (integration_config_id) => {
    const answer = await credentials({ token: 'x' }).load(shape, { tenant_id: 'T1', integration_config_id });
    expect(answer).toMatchObject({
      error_type: 'AUTH_FAILED',
      message: expect.stringContaining('integration_config_id'),
    });
  });

  it.each<[SecretFault, string]>([
    ['denied', 'PERMISSION_DENIED'],
    ['malformed', 'AUTH_FAILED'],
    ['temporary', 'AUTH_TEMPORARY'],
  ])('that cannot be read (%s) is %s', async (fault, error_type) => {
    const source = { get: () => Promise.reject(new SecretUnavailableError(fault, 'The secret cannot be read.')) };
    expect(await createIntegrationCredentials(source, { prefix: '' }).load(shape, owner)).toMatchObject({
      ok: false,
      error_type,
    });
  });
});

describe('the terms of retry in a secret', () => {
  const retry = { base_interval_seconds: 60, max_retries: 3 };
  const terms = { base_interval_ms: 60_000, max_retries: 3 };

  it('stand beside the credential of any channel', async () => {
    for (const [channelShape, secret] of [
      [slackCredential, { token: 'xoxb-1' }],
      [webhookCredential, {}],
      [teamsCredential, { webhook_url: 'https://teams.test' }],
    ] as const) {
      const integration = credentials({ ...secret, retry });
      expect(await integration.load<unknown>(channelShape, owner)).toMatchObject({ ok: true });
      expect(await integration.retryTerms(owner)).toEqual(terms);
    }
  });

  it.each([
    [{ retry: { max_retries: 0 } }, owner, { max_retries: 0 }],
    [{}, owner, undefined],
    [{ retry }, { tenant_id: 'T1' }, undefined],
    [{ retry, tenant_id: 'T2' }, owner, undefined],
    [{ retry }, chosen, undefined],
    [{ retry, tenant_id: '*' }, chosen, terms],
    [{ retry: { max_retries: -1 } }, owner, undefined],
    ['no JSON', owner, undefined],
  ])('of %j for %j are %j', async (secret, of, expected) => {
    expect(await credentials(secret).retryTerms(of)).toEqual(expected);
  });

  it('are none while the source does not answer', async () => {
    const source = { get: () => Promise.reject(new SecretUnavailableError('temporary', 'not now')) };
    expect(await createIntegrationCredentials(source, { prefix: '' }).retryTerms(owner)).toBeUndefined();
  });
});

describe('the shape of a credential', () => {
  const withHeaders = (headers: object) => ({ url: 'https://example.com/hook', headers });
  const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;

  it.each([
    ['webhook with secrets of 24 to 64 bytes', webhookCredential, { secrets: [secretOf(24), secretOf(64)] }, true],
    ['webhook with nothing', webhookCredential, {}, true],
    ['webhook with a short secret', webhookCredential, { secrets: [secretOf(23)] }, false],
    ['webhook with a long secret', webhookCredential, { secrets: [secretOf(65)] }, false],
    ['webhook with a secret that is not base64', webhookCredential, { secrets: ['whsec_****'] }, false],
    ['webhook with a secret without prefix', webhookCredential, { secrets: [secretOf(24).slice(6)] }, false],
    ['webhook with a misspelt field', webhookCredential, { secret: secretOf(24) }, false],
    [
      'webhook with headers and a url',
      webhookCredential,
      withHeaders({ Authorization: 'Bearer a b', 'X-Key': '1' }),
      true,
    ],
    [
      'webhook with headers for whatever recipient',
      webhookCredential,
      { headers: { authorization: 'Bearer a' } },
      false,
    ],
    ['webhook with a header twice', webhookCredential, withHeaders({ 'x-key': '1', 'X-Key': '2' }), false],
    ['webhook with a header of the request', webhookCredential, withHeaders({ 'Content-Length': '1' }), false],
    ['webhook with a header of the signature', webhookCredential, withHeaders({ 'webhook-id': '1' }), false],
    ['webhook with a header that is two', webhookCredential, withHeaders({ 'x-key': '1\r\nx-other: 2' }), false],
    ['webhook with an empty header', webhookCredential, withHeaders({ 'x-key': '' }), false],
    ['webhook with a name that is none', webhookCredential, withHeaders({ 'x key': '1' }), false],
    ['webhook with 5 KB of headers', webhookCredential, withHeaders({ 'x-key': 'k'.repeat(5_000) }), false],
    ['Slack with a token', slackCredential, { token: 'xoxb-1' }, true],
    ['Slack with a webhook', slackCredential, { webhook_url: 'https://hooks.slack.com/services/x' }, true],
    ['Slack with a token that has a line break', slackCredential, { token: 'xoxb-1\n' }, false],
    ['Slack with nothing', slackCredential, {}, false],
    ['Teams with a webhook', teamsCredential, { webhook_url: 'https://x.api.powerplatform.com/y' }, true],
    ['Teams with nothing', teamsCredential, {}, false],
  ])('%s', async (_, credentialShape, secret, ok) => expect(v.is(credentialShape, secret)).toBe(ok));
});
