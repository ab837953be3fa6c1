import { emailIdOf } from '../../../adapters/api/idempotency.ts';
import { draftAccess, publicationOf, publish } from '../../../operator-service/drafts.ts';
import { required, value } from '../../../terminal/command.ts';
import { parseCount, parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { onDeployment } from '../../session/session.ts';
import { showDryRun } from './drafts.ts';
import { parseAt, requestOf } from './post.ts';

export const addEmailsSend = onDeployment({
  name: 'send',
  says: "send a post to a newsletter's members",
  args: { '<FILE>': 'the post: .md, .html or .txt' },
  options: {
    '--tenant <ID>': required(value('the tenant of the newsletter', parseId)),
    '--newsletter <ID>': required(value('the newsletter', parseId)),
    '--segment <NQL>': 'which members get it, such as status:paid; all by default',
    '--scheduled-at <TIME>': value('when to send it, such as 2026-12-01T09:00:00Z; at once by default', parseAt),
    '--window <MINUTES>': value('spread it over this many minutes', parseCount),
    '--idempotency-key <KEY>': 'send the same post once more: each key stands for one sending',
    '--dry-run': 'say who would get it, who would not and why; nothing is sent or stored',
  },
  help: `
The same post goes once: a command that is repeated, after a failure, too, shows the email that there is already.
The subject is "subject: …" between two lines --- at the top of the file, or the first heading of a .md file.

Example:
  npm run ops -- emails send weekly.md --tenant TENANT001 --newsletter weekly --segment status:paid`,
  async run(session, options, [file = '']) {
    const access = draftAccess(session);
    const { tenant: tenant_id, idempotencyKey, dryRun = false } = options;
    const request = await requestOf(session, file, options, access);
    const email_id = (request_hash: string) => {
      const id = emailIdOf(tenant_id, idempotencyKey ?? `ops emails send ${request_hash}`);
      // Before anything can fail: whoever repeats the command, or looks, knows what to look for.
      if (!dryRun) session.terminal.say(`The email is ${id}.\n`);
      return id;
    };
    const found = await publicationOf({ tenant_id, request, email_id }, access);
    if (dryRun) return showDryRun(session, found.publication, access);
    const { repeat } = found;
    const { email_id: id, status, scheduled_at } = await publish(found, access, session.decide);
    const local = session.local ? ' --local' : '';
    printResult(session, { email_id: id, status, ...(repeat && { repeat }) }, () => {
      const follow = `Follow it: npm run ops -- emails status ${id} --watch${local}`;
      if (repeat) {
        return `${id} was published before and is ${status}; nothing was published now. ${follow}\nTo send the same post once more, give the command --idempotency-key with a word of yours.\n`;
      }
      const when = scheduled_at === undefined ? 'is being sent' : `is sent at ${scheduled_at}`;
      return `${id} ${when}. ${follow}\n`;
    });
    return 0;
  },
});
