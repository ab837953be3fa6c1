/**
 * What API Gateway lets pages of the configured origins send and read
 * (docs/decisions/intake/keys-rights-and-limits.md#0159). Tokens travel in a header, so no page needs cookies.
 */
export const PAGE_CORS = {
  methods: ['GET', 'POST'],
  headers: ['authorization', 'content-type', 'idempotency-key', 'traceparent'],
  exposed: ['idempotent-replayed', 'retry-after'],
  max_age_seconds: 3_600,
} as const;

export const PAGE_ORIGIN_RULE =
  'must be an origin as browsers send it: https://app.your-domain.example, or http://localhost:5173 for development';

const HTTPS = /^https:\/\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/;
const THIS_MACHINE = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;

/** Whether the text is one origin in the form that browsers send: in lower case, without a path or a wildcard. */
export function isPageOrigin(text: string): boolean {
  return (HTTPS.test(text) || THIS_MACHINE.test(text)) && !/^https:.*:443$|^http:.*:80$/.test(text);
}
