import * as v from 'valibot';
import { instant } from '../fields.ts';
import { described } from './answers.ts';
import { channel, id, objectMessage, recipient, text } from './intake.ts';

/** What `POST /v1/tokens` accepts and answers. */

/** A token travels in a header. */
const MAX_TOKEN_LOG_IDS = 50;
const LONGEST_SECONDS = 3_600;
const seconds = `must be a whole number from 1 to ${LONGEST_SECONDS}`;
const many = `must have 1 to ${MAX_TOKEN_LOG_IDS} log_ids`;

const tokenEntries = {
  log_ids: v.optional(
    described(
      v.pipe(v.array(text(50), 'must be a list'), v.minLength(1, many), v.maxLength(MAX_TOKEN_LOG_IDS, many)),
      'The notifications that the token may show and retry. Needs the scopes read and operate',
    ),
  ),
  send: v.optional(
    // No constant: generators of clients stumble over a boolean constant.
    described(v.boolean('must be true'), 'true: the token may hand over notifications. Needs the scope send'),
  ),
  channel: v.optional(
    described(
      channel,
      'With send: the only channel to which the token may send. A token with a channel, recipient or integration takes no fallback, and no integration but its own',
    ),
  ),
  recipient: v.optional(
    described(recipient, 'With send: the only recipient to whom the token may send, as the page names it'),
  ),
  integration_config_id: v.optional(
    described(id, 'With send: the integration that each request names, and the only one'),
  ),
  ttl_seconds: v.optional(
    described(
      v.pipe(
        v.number('must be a number'),
        v.integer(seconds),
        v.minValue(1, seconds),
        v.maxValue(LONGEST_SECONDS, seconds),
      ),
      'How long the token is valid',
    ),
    900,
  ),
};
export const tokenSchema = v.strictObject(tokenEntries, objectMessage);

export const tokenAnswer = v.object({ token: v.string(), expires_at: instant });
