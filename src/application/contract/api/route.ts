import type * as v from 'valibot';
import type { Scope } from '../../../core/intake/api-scopes.ts';
import type { ProblemName } from '../../../core/model/problem.ts';

export interface RouteRights {
  /** The scope that the API key must have; `any`: the route itself looks at the scopes; `none`: no key is needed. */
  readonly scope: Scope | 'any' | 'none';
  /** The tokens of web pages that may use the route: those to send, or those of the log_id in its path. Absent: none. */
  readonly tokens?: 'send' | 'log_id';
}

/** All that is said of a route of the API: HTTP, its rights, the gateway's route and its operation in the document. */
export interface ApiRoute extends RouteRights {
  /** As API Gateway names routes: `GET /v1/emails/{email_id}`. */
  readonly key: string;
  readonly summary: string;
  /** Schemas of parameters in the path; the others are any text. */
  readonly path?: Readonly<Record<string, v.GenericSchema>>;
  readonly query?: v.GenericSchema;
  readonly body?: v.GenericSchema;
  /** Largest body in bytes. */
  readonly max_bytes?: number;
  /** How the route treats an Idempotency-Key. Absent: it looks at none. */
  readonly idempotency?: {
    readonly needed: boolean;
    /** For the document, which has no key to send without it. */
    readonly description?: string;
  };
  readonly answer: {
    readonly status: 200 | 201 | 202;
    readonly description: string;
    /** Absent: any object. */
    readonly schema?: v.GenericSchema;
    readonly headers?: object;
  };
  /** What it answers with 200 where `answer` is for something else. */
  readonly at_once?: { readonly description: string; readonly schema: v.GenericSchema };
  /** What it refuses beside what any route does, and beside what its schemas do. */
  readonly problems?: readonly ProblemName[];
}

/** By the names of their operations. */
export type ApiRoutes = Readonly<Record<string, ApiRoute>>;

/** Above the longest body of 256 KB, because JSON escapes make a text up to six times as long. */
export const MAX_TEXT_BYTES = 1024 * 1024;
/** A Lambda function takes 6 MB, its envelope included. */
export const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/** Headers of answers that may hold a repeat, or a result of 503. */
export const REPLAYED = {
  'Idempotent-Replayed': { description: '`true` on a repeat', schema: { const: 'true' } },
};
export const RETRY_AFTER_SOME = {
  'Retry-After': {
    description: 'Whole seconds, if a result is 503',
    schema: { type: 'integer', minimum: 1 },
  },
};
