import { KEY_ROUTES } from './keys.ts';
import { NOTIFICATION_ROUTES } from './notifications.ts';
import { OPERATION_ROUTES } from './operations.ts';
import { AUDIT, DEAD_LETTERS, HEALTH, OVERVIEW, SESSION } from './overview.ts';

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
