import * as v from 'valibot';
import { DAY_MS } from '../../core/model/time.ts';
import { listAudit } from '../audit.ts';
import { day, decisionBody, placePart } from '../contract/fields.ts';
import { createdKey, createKeyBody, keyList, keysQuery, revokedKey } from '../contract/keys.ts';
import { auditList, auditQuery } from '../contract/operations.ts';
import { deadLetters, deadLettersQuery, health, overview, session } from '../contract/overview.ts';
import { fromCursor, placeOf, toCursor } from '../cursor.ts';
import { deadGroups } from '../dead-groups.ts';
import { createKey, listKeys, revokeKey } from '../keys.ts';
import { decision, list, show } from '../route.ts';
import { NOTIFICATION_ROUTES } from './notifications.ts';
import { OPERATION_ROUTES } from './operations.ts';

/** Often enough that a person sees what an action does; a poll without news costs a 304. */
const POLL_MS = 3_000;

const SESSION = show('GET /api/session', {
  operation_id: 'getSession',
  summary: 'Who acts, with which role, and where',
  answer: session,
  command: ['status'],
  handle: async ({ caller: { who, name = who, role } }, { stage, region, local, deployment }) => {
    const tables = Object.keys(deployment.tables);
    const lacks = [
      ...(tables.includes('newsletters') ? [] : ['newsletters' as const]),
      ...(tables.includes('api_keys') ? [] : ['keys' as const]),
    ];
    return { who: name, role, stage, region, local, ...(lacks.length > 0 && { lacks }), poll_ms: POLL_MS };
  },
});

const OVERVIEW = show('GET /api/overview', {
  operation_id: 'getOverview',
  summary: 'What is due, waiting and dead, why, and the last day',
  answer: overview,
  command: ['status'],
  handle: (_, deps) => deps.overview(),
});

const HEALTH = show('GET /api/health', {
  operation_id: 'getHealth',
  summary: 'How the integrations fared in the last day',
  answer: health,
  command: ['status'],
  handle: (_, deps) => deps.health(),
});

const DEAD_LETTERS = list('GET /api/dead-letters', deadLettersQuery, {
  operation_id: 'listDeadLetters',
  summary: 'Dead notifications, grouped by their cause',
  answer: deadLetters,
  command: ['dlq list'],
  handle: ({ input }, deps) => deadGroups(input, deps),
});

const place = placeOf(v.strictObject({ day, item: placePart }));

const AUDIT = list('GET /api/audit', auditQuery, {
  operation_id: 'listAudit',
  summary: 'Who did what when, newest first',
  answer: auditList,
  command: ['audit'],
  async handle({ input }, deps) {
    const { records, next } = await listAudit({ ...input, after: fromCursor(place, input.cursor) }, deps);
    return { entries: records, next_cursor: toCursor(next) };
  },
});

/** The API keys of producers. */
const KEY_ROUTES = [
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

/** The routes that every console has; those of newsletters are a function of their own, with the rights that they need. */
export const PIPELINE_ROUTES = [
  SESSION,
  OVERVIEW,
  HEALTH,
  ...NOTIFICATION_ROUTES,
  DEAD_LETTERS,
  ...OPERATION_ROUTES,
  ...KEY_ROUTES,
  AUDIT,
];
