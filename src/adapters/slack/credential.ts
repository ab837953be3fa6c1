import * as v from 'valibot';

/**
 * A bot token posts to any channel that the bot is in. The URL of an incoming webhook posts to the channel that it was
 * made for. If both are given, the token is used.
 */
export const slackCredential = v.pipe(
  v.object({
    token: v.optional(v.pipe(v.string(), v.regex(/^[\x21-\x7e]+$/, 'must be a token without spaces'))),
    webhook_url: v.optional(v.string()),
  }),
  v.check(({ token, webhook_url }) => (token ?? webhook_url) !== undefined, 'must have token or webhook_url'),
);
export type SlackCredential = v.InferOutput<typeof slackCredential>;
