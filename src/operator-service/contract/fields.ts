import * as v from 'valibot';

/** Ids of tenants, notifications, integrations. DynamoDB refuses a key with half a surrogate pair. */
export const id = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(100),
  v.check((text) => text.isWellFormed(), 'must be well-formed Unicode'),
);

/** Made by the client, once per decision of a person: a repeated request acts once. A UUID does. */
export const requestId = v.pipe(v.string(), v.regex(/^[\w-]{8,64}$/, 'must have 8 to 64 of A-Z, a-z, 0-9, _ and -'));

export const moment = v.pipe(
  v.string(),
  v.regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/, 'must be a time such as 2026-11-01T10:30:00.000Z'),
);

/** Of a query: text. */
export const limit = v.optional(
  v.pipe(v.string(), v.regex(/^\d{1,3}$/), v.transform(Number), v.minValue(1), v.maxValue(200)),
  '50',
);

export const cursor = v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(2_000)));
