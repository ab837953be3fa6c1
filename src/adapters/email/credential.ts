import * as v from 'valibot';

/**
 * An e-mail integration may have its own sender. It needs no credential, since the function's role may send. With
 * `allow_html`, HTML in a Markdown body is sent as HTML and not as text. Unknown fields are refused.
 */
export const emailCredential = v.strictObject({
  tenant_id: v.optional(v.string()),
  from: v.optional(v.pipe(v.string(), v.regex(/^[^\r\n]+@[^\r\n]+$/, 'must be an e-mail address'))),
  allow_html: v.optional(v.boolean(), false),
  configuration_set: v.optional(v.pipe(v.string(), v.regex(/^[\w-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 _ -'))),
});
