import type { Command } from 'commander';
import { emailAccess } from '../../../adapters/deployment/email-access.ts';
import { type EmailSummary, emailSummary } from '../../../core/newsletter/views/email-view.ts';
import { parseCount, parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { ago, table } from '../../../terminal/table.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';

interface ListOptions {
  readonly tenant: string;
  readonly limit: number;
}

export function addEmailsList(emails: Command, context: CliContext): void {
  const command = emails
    .command('list')
    .requiredOption('--tenant <ID>', 'the tenant', parseId)
    .option('--limit <N>', 'at most so many', parseCount, 20)
    .description("list a tenant's e-mails, newest first")
    .addHelpText('after', '\nExample:\n  npm run ops -- emails list --tenant TENANT001');
  onDeployment<ListOptions>(command, context, list);
}

async function list(session: Session, { tenant, limit }: ListOptions): Promise<number> {
  const access = emailAccess(session);
  const now = session.clock();
  const found: EmailSummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await access.emails.list(tenant, cursor);
    found.push(...page.emails.map((email) => emailSummary(email, now)));
    cursor = page.next_cursor;
  } while (cursor !== undefined && found.length < limit);
  const shown = found.slice(0, limit);
  printResult(session, shown, () =>
    shown.length === 0
      ? `${tenant} has no e-mails.\n`
      : table<EmailSummary>(
          [
            { title: 'email', of: ({ email_id }) => email_id },
            { title: 'newsletter', of: ({ newsletter_id }) => newsletter_id },
            { title: 'phase', of: ({ phase }) => phase },
            { title: 'recipients', of: ({ email_count }) => email_count },
            { title: 'segment', of: ({ segment }) => segment },
            { title: 'published', of: ({ created_at }) => ago(created_at, now) },
            { title: 'error', of: ({ error }) => error?.slice(0, 60) },
          ],
          shown,
          session.terminal.colors,
        ),
  );
  return 0;
}
