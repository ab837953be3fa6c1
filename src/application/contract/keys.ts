import * as v from 'valibot';
import { KEY_SCOPES } from './choices.ts';
import { cursor, id, nextPage, type Out, requestId, time } from './fields.ts';

/** Newest first. */
export const keysQuery = v.strictObject({ tenant: v.optional(id), cursor });

const key = v.strictObject({
  key_id: v.string(),
  tenant_id: v.string(),
  scopes: v.array(v.string()),
  state: v.picklist(['valid', 'expired', 'revoked']),
  created_at: time,
  expires_at: v.exactOptional(time),
  revoked_at: v.exactOptional(time),
  rate_limit: v.exactOptional(v.number()),
  description: v.exactOptional(v.string()),
});
export type KeyView = Out<typeof key>;
export const keyList = v.strictObject({ keys: v.array(key), ...nextPage });

export const createKeyBody = v.strictObject({
  request_id: requestId,
  tenant: id,
  scopes: v.pipe(v.array(v.picklist(KEY_SCOPES)), v.minLength(1)),
  expires_in_days: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_650))),
  rate_limit: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(10_000))),
  description: v.optional(v.pipe(v.string(), v.maxLength(200))),
});

/** The key is shown this once; null: an earlier request with the same id showed it. */
export const createdKey = v.strictObject({ key_id: v.string(), key: v.nullable(v.string()) });
export type CreatedKey = Out<typeof createdKey>;

export const revokedKey = v.strictObject({ key_id: v.string(), revoked_at: time });
