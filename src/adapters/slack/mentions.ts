/** Without width, so that Slack does not take the name after an `@` for a mention in any of its parsing modes. */
const APART = '@\u200b';

/**
 * Slack's mention of a user, a user group, a channel's members: `<@U012AB3CD>`, `<!subteam^S1|@team>`, `<!here>`. A
 * date, `<!date^…>`, notifies nobody.
 */
const MENTION = /<([@!](?!date\^))([^<>|\n]*)(?:\|([^<>\n]*))?>/g;

/** Replaces mentions by readable text that notifies nobody, also in code, where Slack obeys them too. */
export function withoutMentions(mrkdwn: string): string {
  return (
    mrkdwn
      .replace(
        MENTION,
        (_, _sign, id: string, label?: string) => APART + (label || id.replace(/^subteam\^/, '')).replace(/^@/, ''),
      )
      // What is left is not closed, or not in the form that Slack documents.
      .replace(/<(?=[@!](?!date\^))/g, '&lt;')
  );
}
