import * as v from 'valibot';
import { CHANNELS } from '../../core/model/channels.ts';
import { ERROR_TYPES } from '../../core/model/error-types.ts';

/** ISO-8601 UTC. Rows of other writers may hold other texts, so the form is not checked. */
export const time = v.string();
export const channel = v.picklist(CHANNELS);
export const errorType = v.picklist(ERROR_TYPES);
export const count = v.number();
export const counts = v.record(v.string(), count);

export const nextPage = { next_cursor: v.nullable(v.string()) } as const;

export const shellCommand = v.strictObject({ label: v.string(), command: v.string() });

/** The columns of a row that an operator may see, as they are stored, and what becomes of it. */
export const notificationView = v.looseObject({
  state: v.picklist([
    'delivered',
    'claimed',
    'abandoned',
    'due',
    'waiting',
    'dead',
    'stopped',
    'set_aside',
    'not_taken_in',
  ]),
});
