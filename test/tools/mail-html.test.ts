import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parsePost } from '../../src/cli/commands/emails/post.ts';
import { arriving } from '../support/newsletter/arriving.ts';
import { emailContent } from '../support/newsletter/job-rows.ts';
import { hasTool, NODE_TOOLS } from '../support/tools/tools.ts';

interface Linter {
  validateString(html: string): Promise<{
    readonly results: readonly {
      readonly messages: readonly { readonly ruleId: string; readonly message: string }[];
    }[];
  }>;
}
interface Support {
  readonly issues: { readonly errors: ReadonlyMap<string, readonly { readonly title: string }[]> };
}

const FORMATS = { 'digest.md': 'markdown', 'designed.html': 'html', 'plain.txt': 'text' } as const;

/** What of a mail some programs do not know, and what it looks like there instead. */
const WITHOUT: Readonly<Record<string, string>> = {
  'color-scheme CSS property': 'light, or turned by the program',
  'color-scheme meta tag': 'likewise',
  '@media': 'wide paddings on a phone, light in the dark',
  '<style> element': 'likewise: every element has its style',
  '<body> element': 'a table holds the colors of the page',
  'overflow-wrap': 'word-break does the same',
  'word-break': 'overflow-wrap does the same',
  'display:none': 'the preheader has no height either',
  'max-height property': 'the preheader is not displayed there',
  overflow: 'likewise',
  'border-spacing': 'two pixels around a button',
  'border-radius': 'square corners',
  'table-layout': 'a conditional comment sets the width',
  'white-space': 'lines of a plain text end by <br>; blanks in a row are one',
  'height property': 'pictures have the attribute',
  'role attribute': 'a screen reader tells of a table',
};

describe.skipIf(!hasTool('html-validate', join(NODE_TOOLS, 'html-validate')))('the HTML of a mail', () => {
  const from = createRequire(join(NODE_TOOLS, 'index.js'));
  const mails: { readonly file: string; readonly html: string }[] = [];
  beforeAll(async () => {
    const says = { sender_name: 'K & Co', postal_address: '1-1 Chiyoda, Tokyo', contact: 'ask@k.example' };
    const newsletter = { ...emailContent().newsletter, ...says, logo_url: 'https://k.example/logo.png' };
    for (const [file, format] of Object.entries(FORMATS)) {
      const source = readFileSync(new URL(`../../examples/newsletters/${file}`, import.meta.url), 'utf8');
      mails.push({ file, html: (await arriving({ ...parsePost(source, format, file), newsletter })).html });
    }
  });

  it('is what HTML and its rules of accessibility allow, as html-validate reads them', async () => {
    const { HtmlValidate } = from('html-validate') as { HtmlValidate: new (config: object) => Linter };
    const linter = new HtmlValidate({ extends: ['html-validate:standard', 'html-validate:a11y'] });
    for (const { file, html } of mails) {
      const { results } = await linter.validateString(html);
      expect(
        results.flatMap(({ messages }) => messages.map(({ ruleId, message }) => `${ruleId}: ${message}`)),
        file,
      ).toEqual([]);
    }
  });

  it('uses nothing that Gmail, Apple Mail, Outlook or Yahoo lack but what looks right without', () => {
    const { caniemail } = from('caniemail') as { caniemail: (asked: object) => Support };
    const clients = ['gmail.*', 'apple-mail.*', 'outlook.*', 'yahoo.*'];
    const lacking = mails.flatMap(({ html }) => [...caniemail({ clients, html }).issues.errors.values()].flat());
    expect([...new Set(lacking.map(({ title }) => title))].sort()).toEqual(Object.keys(WITHOUT).sort());
  });
});
