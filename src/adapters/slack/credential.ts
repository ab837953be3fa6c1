import * as v from 'valibot';

/**
 * A bot token posts to any channel it is in; an incoming webhook's URL posts to the one it was made for. With both,
 * the token is used.
 */
export const slackCredential = v.pipe(
  v.object({
    token: v.optional(v.pipe(v.string(), v.regex(/^[\x21-\x7e]+$/, 'must be a token without spaces'))),
    webhook_url: v.optional(v.string()),
  }),
  v.check(({ token, webhook_url }) => (token ?? webhook_url) !== undefined, 'must have token or webhook_url'),
);
export type SlackCredential = v.InferOutput<typeof slackCredential>;
