import { describe, expect, it } from 'vitest';
import { htmlToPlainText } from '../../../src/adapters/content/html-text.ts';
import { HTML_CASES } from '../../corpus/bodies/html.ts';

describe('the text of HTML', () => {
  it.each(HTML_CASES.map(({ html, text, why }) => [why, html.slice(0, 100), text, html] as const))(
    'has %s: %s',
    async (_, __, text, html) => {
      expect(await htmlToPlainText(html)).toBe(text);
    },
  );
});
