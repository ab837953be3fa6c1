import { timeBoxed } from './conversion-timeout.ts';

/**
 * The text of an HTML body: the text alternative of an e-mail, and the message for channels without HTML. Links keep
 * their address in brackets, images their alternative text. The converter is loaded on first use.
 */
export async function htmlToPlainText(html: string): Promise<string> {
  const { convert } = await import('html-to-text');
  return timeBoxed(() =>
    convert(html, {
      wordwrap: false,
      selectors: [
        { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
        { selector: 'img', options: { ignoreHref: true } },
        // The package would write headings in capitals, which changes names.
        ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
      ],
    }),
  );
}
