import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { escapeHtml } from '../../../adapters/content/escape-html.ts';
import { draftAccess } from '../../../application/emails/draft-access.ts';
import { type MailPreview, previewedDraft, previewOf } from '../../../application/emails/preview.ts';
import { writePrivateFile } from '../../../processes/private-file.ts';
import { value } from '../../../terminal/command.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { onDeployment } from '../../session/session.ts';
import { fileOrEmail } from './post.ts';

export const addEmailsPreview = onDeployment({
  name: 'preview',
  says: 'show the mail as one member gets it, before or after it is sent',
  args: { '<FILE|ID>': 'a post that is not published (.md, .html, .txt), or an email_id' },
  options: {
    '--member <ID>': 'show it as this member gets it; without one: with sample values and all parts',
    '--open': 'open its HTML beside its text in a browser',
    '--tenant <ID>': value('the tenant of the newsletter; for a file', parseId),
    '--newsletter <ID>': value('the newsletter; for a file', parseId),
  },
  help: `
Nothing is sent or kept, and its links unsubscribe nobody. The audit log keeps who was shown a member's values.

Example:
  npm run ops -- emails preview weekly.md --tenant TENANT001 --newsletter weekly --member m-17 --open`,
  async run(session, { member, open = false, tenant, newsletter }, [post = '']) {
    const access = draftAccess(session);
    const previewed = await fileOrEmail(post, { tenant, newsletter }, access, session, (tenant_id, request) =>
      previewedDraft(tenant_id, request, access),
    );
    const mail = await session.decide(previewOf(previewed, member, access));
    const file = open ? pageOf(mail, session.newId()) : undefined;
    // A script has the path.
    if (file !== undefined && session.terminal.interactive) showInBrowser(file);
    printResult(session, { ...mail, ...(file !== undefined && { file }) }, () => {
      const notes = mail.notes.map((note) => `Note: ${note}\n`).join('');
      if (file !== undefined) return `${notes}It is in ${file}, for you alone: delete it when you have seen it.\n`;
      const headers = Object.entries(mail.headers).map(([name, text]) => `${name}: ${text}\n`);
      return `${headers.join('')}\n${mail.text}\n${notes}`;
    });
  },
});

/** Pictures are fetched, and nothing else: a script of its author runs neither here nor there. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; font-src https:";
const STYLE =
  ':root{color-scheme:light dark;font:14px/1.5 system-ui,sans-serif}body{margin:1rem}main{display:flex;flex-wrap:wrap;gap:1rem}' +
  'iframe,pre{box-sizing:border-box;height:80vh;border:1px solid #8888;background:Canvas}iframe{flex:1 1 640px}' +
  'iframe.phone{flex:0 0 390px}pre{flex:1 1 400px;margin:0;padding:1rem;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere}';

/** A file with the mail on a desktop and on a phone, in the colours of the browser, and its text. @returns its path */
function pageOf({ subject, headers, notes, html, text }: MailPreview, id: string): string {
  const lines = [...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), ...notes];
  const frame = (title: string) =>
    `<iframe class="${title}" title="${title}" sandbox="allow-popups allow-popups-to-escape-sandbox" ` +
    `srcdoc="${escapeHtml(`<base target="_blank">${html}`)}"></iframe>`;
  const path = join(tmpdir(), `mail-preview-${id}.html`);
  writePrivateFile(
    path,
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}">` +
      `<meta name="referrer" content="no-referrer"><title>${escapeHtml(subject)}</title><style>${STYLE}</style></head><body>` +
      `<p>${lines.map(escapeHtml).join('<br>')}</p><main>${frame('desktop')}${frame('phone')}` +
      `<pre tabindex="0">${escapeHtml(text)}</pre></main></body></html>`,
  );
  return path;
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['explorer'],
};

/** Where there is no browser, the path that is printed is all there is. */
function showInBrowser(file: string): void {
  const [program, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const opened = spawn(program, [...args, file], { stdio: 'ignore', detached: true });
  opened.on('error', () => {});
  opened.unref();
}
