import { timeBoxed } from './time-box.ts';

/**
 * The text of an HTML body, as the text alternative of a mail and as what channels without HTML get. Links keep
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
        // Capitals are the package's way to show a heading; a name should stay as it was written.
        ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
      ],
    }),
  );
}
