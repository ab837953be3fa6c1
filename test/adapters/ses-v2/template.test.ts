import fc from 'fast-check';
import Handlebars from 'handlebars';
import { describe, expect, it } from 'vitest';
import { entryData, templateOf } from '../../../src/adapters/ses-v2/bulk-provider.ts';
import type { Pieces } from '../../../src/core/newsletter/model/merge-fields.ts';

/** What SES makes of it: Handlebars without escaping, over the entry's own values alone. */
function arrives(rendering: { subject: Pieces; html: Pieces; text: Pieces }, values: Record<string, string>) {
  const template = templateOf(rendering);
  const data = JSON.parse(entryData({ values }, rendering));
  const fill = (text: string) => Handlebars.compile(text, { noEscape: true, strict: true })(data);
  return { subject: fill(template.Subject), html: fill(template.Html), text: fill(template.Text) };
}

/** The source's fields as values, and everything else as it was written. */
function post(source: string) {
  const parts = source.split(/(?<!\{)\{([a-z_]+)(?:, "([^"]*)")?\}(?!\})/);
  const text = parts.flatMap((part, i): Pieces => {
    if (i % 3 === 0) return part === undefined || part === '' ? [] : [part];
    const fallback = parts[i + 1];
    return i % 3 === 1 ? [{ field: part ?? '', ...(fallback !== undefined && { fallback }) }] : [];
  });
  return { subject: text, html: text, text };
}

describe('the template of a rendering', () => {
  it('fills in values, escaped in HTML alone', () => {
    expect(arrives(post('Hi {name}!'), { name: '<b>Ann & Bo</b>' })).toEqual({
      subject: 'Hi <b>Ann & Bo</b>!',
      html: 'Hi &lt;b&gt;Ann &amp; Bo&lt;/b&gt;!',
      text: 'Hi <b>Ann & Bo</b>!',
    });
  });

  it('fills in the fallback of each use for a member without a value', () => {
    const { text } = arrives(post('{name, "you"} and {name, "friend"}'), {});
    expect(text).toBe('you and friend');
    expect(arrives(post('{name, "you"} and {name, "friend"}'), { name: 'Ann' }).text).toBe('Ann and Ann');
  });

  it.each(['{{name}}', '{{{name}}}', '\\{{name}}', 'a {{#if x}} b', '{name}}', '{{name}', '\\', '{', '}'])(
    'leaves %s as it was written, beside a field too',
    (text) => {
      expect(arrives(post(text), { name: 'Ann', email: 'x' }).text).toBe(text);
      expect(arrives(post(`${text} {email} ${text}`), { name: 'Ann', email: 'x' }).text).toBe(`${text} x ${text}`);
    },
  );

  it('leaves any text as it was written', () => {
    const piece = fc.constantFrom('{', '}', '\\', '{email}', '-', ' ', '{{', '}}', '#', '/', '!', '^', '>', '"');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const text = pieces.join('');
        const expected = text.replaceAll(/(?<!\{)\{email\}(?!\})/g, 'ann@example.com');
        expect(arrives(post(text), { email: 'ann@example.com' }).text).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('does not read a value as a template', () => {
    expect(arrives(post('{name}'), { name: '{{email}} \\ {x}' }).text).toBe('{{email}} \\ {x}');
  });
});
