import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { writePrivateFile } from '../../processes/private-file.ts';
import { REVOKED_TOKEN } from '../providers/receivers.ts';
import { isObject, type Json, type JsonObject } from '../support/json.ts';

/**
 * Creates or completes the secrets file: the keys for recipients, and the integrations of the sample data. Existing
 * keys stay, because the data directory holds data encrypted with them. Integrations that a user added stay, too. Only
 * the URLs of the sample integrations change with the simulator's port.
 * @throws Error that says what is wrong with the file, without quoting it
 */
export function prepareSecrets(path: string, simulator: string): void {
  const known = read(path);
  const integrations = isObject(known['integrations']) ? known['integrations'] : {};
  const secrets = {
    recipient_key: randomBytes(32).toString('base64'),
    recipient_hash_key: randomBytes(32).toString('base64'),
    unsubscribe_key: randomBytes(32).toString('base64'),
    token_key: randomBytes(32).toString('base64'),
    ...known,
    integrations: { ...integrations, ...sampleIntegrations(simulator, integrations) },
  };
  writePrivateFile(path, `${JSON.stringify(secrets, null, 2)}\n`);
}

/** Values of `integration_config_id` in the sample rows. */
export const SAMPLE_INTEGRATIONS = {
  slack: 'local-slack',
  slackRevoked: 'local-slack-revoked',
  slackWebhook: 'local-slack-webhook',
  teams: 'local-teams',
  webhook: 'local-webhook',
} as const;

const EVERY_TENANT = { tenant_id: '*' };

function sampleIntegrations(simulator: string, known: JsonObject): JsonObject {
  const { slack, slackRevoked, slackWebhook, teams, webhook } = SAMPLE_INTEGRATIONS;
  return {
    [slack]: known[slack] ?? { token: 'xoxb-local', ...EVERY_TENANT },
    [slackRevoked]: known[slackRevoked] ?? { token: REVOKED_TOKEN, ...EVERY_TENANT },
    [slackWebhook]: { webhook_url: `${simulator}/slack/services/T000/B000/ok`, ...EVERY_TENANT },
    [teams]: { webhook_url: `${simulator}/teams/ok`, ...EVERY_TENANT },
    [webhook]: known[webhook] ?? { secrets: [`whsec_${randomBytes(24).toString('base64')}`], ...EVERY_TENANT },
  };
}

function read(path: string): JsonObject {
  if (!existsSync(path)) return {};
  let content: Json;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new Error(`The secrets file ${path} is not JSON: repair or remove it`, { cause });
  }
  if (!isObject(content)) throw new Error(`The secrets file ${path} should hold an object: repair or remove it`);
  return content;
}
