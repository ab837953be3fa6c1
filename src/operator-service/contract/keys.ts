import * as v from 'valibot';
import { cursor, id, requestId } from './fields.ts';
import type { NextPage } from './page.ts';

export const KEY_SCOPES = ['send', 'read', 'operate', 'newsletters:read', 'newsletters:write'] as const;

/** `GET /api/keys?tenant=`: newest first. */
export const keysQuery = v.strictObject({ tenant: v.optional(id), cursor });

export interface KeyView {
  readonly key_id: string;
  readonly tenant_id: string;
  readonly scopes: readonly string[];
  readonly state: 'valid' | 'expired' | 'revoked';
  readonly created_at: string;
  readonly expires_at?: string;
  readonly revoked_at?: string;
  readonly rate_limit?: number;
  readonly description?: string;
}

export interface KeyList extends NextPage {
  readonly keys: readonly KeyView[];
}

/** `POST /api/keys`. */
export const createKeyBody = v.strictObject({
  request_id: requestId,
  tenant: id,
  scopes: v.pipe(v.array(v.picklist(KEY_SCOPES)), v.minLength(1)),
  expires_in_days: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_650))),
  rate_limit: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(10_000))),
  description: v.optional(v.pipe(v.string(), v.maxLength(200))),
});

export interface CreatedKey {
  readonly key_id: string;
  /** Shown this once; null: an earlier request with the same id showed it. */
  readonly key: string | null;
}

/** `POST /api/keys/{key_id}/revoke`. */
export const revokeKeyBody = v.strictObject({ request_id: requestId });

export interface RevokedKey {
  readonly key_id: string;
  readonly revoked_at: string;
}
