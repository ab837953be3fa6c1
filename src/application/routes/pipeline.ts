import * as v from 'valibot';
import { listAudit } from '../audit.ts';
import { day, placePart } from '../contract/fields.ts';
import { auditList, auditQuery } from '../contract/operations.ts';
import { deadLetters, deadLettersQuery, health, overview, session } from '../contract/overview.ts';
import { fromCursor, placeOf, toCursor } from '../cursor.ts';
import { deadGroups } from '../dead-groups.ts';
import { list, show } from '../route.ts';
import { KEY_ROUTES } from './keys.ts';
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
