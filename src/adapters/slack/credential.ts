import * as v from 'valibot';
import { targetPorts } from '../secrets/target-ports.ts';

/**
 * A bot token posts to any channel that the bot is in. The URL of an incoming webhook posts to the channel that it was
 * made for, on port 443 or one of `ports`. If both are given, the token is used. Unless `allow_mentions` is set, the
 * mentions in a message notify nobody.
 */
export const slackCredential = v.pipe(
  v.object({
    token: v.optional(v.pipe(v.string(), v.regex(/^[\x21-\x7e]+$/, 'must be a token without spaces'))),
    webhook_url: v.optional(v.string()),
    ports: targetPorts,
    allow_mentions: v.optional(v.boolean(), false),
  }),
  v.check(({ token, webhook_url }) => (token ?? webhook_url) !== undefined, 'must have token or webhook_url'),
);
export type SlackCredential = v.InferInput<typeof slackCredential>;
