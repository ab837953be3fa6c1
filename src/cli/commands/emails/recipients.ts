import { type Command, Option } from 'commander';
import { emailAccess, existingEmail } from '../../../adapters/deployment/email-access.ts';
import { SHOWN_STATES, type ShownState } from '../../../core/newsletter/model/recipient-state.ts';
import {
  listRecipients,
  type RecipientPlace,
  type RecipientView,
} from '../../../core/newsletter/views/list-recipients.ts';
import { parseCount, parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { table } from '../../../terminal/table.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';

interface RecipientsOptions {
  readonly state?: ShownState;
  readonly limit: number;
  readonly addresses?: boolean;
}

const PAGE = 500;

export function addEmailsRecipients(emails: Command, context: CliContext): void {
  const command = emails
    .command('recipients')
    .argument('<ID>', 'the email_id', parseId)
    .addOption(new Option('--state <STATE>', 'only those in this state').choices(SHOWN_STATES))
    .option('--limit <N>', 'at most so many', parseCount, 100)
    .option('--addresses', 'show addresses and names; it needs the right to decrypt them')
    .description('list the recipients of an e-mail: state, reason, and what events told')
    .addHelpText('after', '\nExample:\n  npm run ops -- emails recipients ID --state uncertain --addresses');
  onDeployment<RecipientsOptions>(command, context, recipients);
}

async function recipients(
  session: Session,
  { state, limit, addresses = false }: RecipientsOptions,
  [email_id = '']: readonly string[],
): Promise<number> {
  const access = emailAccess(session);
  await existingEmail(email_id, access);
  const found: RecipientView[] = [];
  let from: RecipientPlace | undefined;
  do {
    const request = { email_id, limit: Math.min(limit, PAGE), identities: addresses };
    const page = await listRecipients({ ...request, ...(state && { state }), ...(from && { from }) }, access);
    found.push(...page.recipients);
    from = page.next && { batch_id: page.next.batch_id, chunk: page.next.chunk };
  } while (from !== undefined && found.length < limit);
  const shown = found.slice(0, limit);
  printResult(session, shown, () =>
    shown.length === 0
      ? 'No recipients.\n'
      : table<RecipientView>(
          [
            { title: 'member', of: ({ member_id }) => member_id },
            ...(addresses ? [{ title: 'address', of: ({ member_email }: RecipientView) => member_email }] : []),
            { title: 'state', of: (one) => one.state },
            { title: 'reason', of: ({ reason }) => reason },
            { title: 'batch', of: ({ batch_id }) => batch_id },
            { title: 'processed', of: ({ processed_at }) => processed_at },
            { title: 'events', of: ({ events }) => events.join(', ') || undefined },
          ],
          shown,
          session.terminal.colors,
        ),
  );
  return 0;
}
