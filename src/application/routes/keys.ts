import { decisionBody } from '../contract/fields.ts';
import { createdKey, createKeyBody, keyList, keysQuery, revokedKey } from '../contract/keys.ts';
import { createKey, listKeys, revokeKey } from '../keys.ts';
import { decision, list } from '../route.ts';

const DAY_MS = 86_400_000;

/** The API keys of producers. */
export const KEY_ROUTES = [
  list('GET /api/keys', keysQuery, {
    operation_id: 'listKeys',
    summary: 'Keys of the intake API, without their secrets',
    answer: keyList,
    command: ['keys list'],
    async handle({ input }, deps) {
      const keys = (await listKeys(input.tenant, deps)).reverse();
      return { keys: keys.map(({ rotated_at: _, lifetime_ms: __, ...key }) => key), next_cursor: null };
    },
  }),
  decision('POST /api/keys', createKeyBody, {
    operation_id: 'createKey',
    summary: 'Makes a key; its secret is shown this once',
    answer: createdKey,
    command: ['keys list'],
    decide({ input: { expires_in_days, ...asked } }, deps) {
      const lifetime_ms = expires_in_days === undefined ? undefined : expires_in_days * DAY_MS;
      return createKey({ ...asked, lifetime_ms }, deps);
    },
  }),
  decision('POST /api/keys/{key_id}/revoke', decisionBody, {
    operation_id: 'revokeKey',
    summary: 'Revokes a key',
    answer: revokedKey,
    command: ['keys revoke', 'key_id'],
    decide: ({ path }, deps) => revokeKey(path.key_id, deps),
  }),
];
