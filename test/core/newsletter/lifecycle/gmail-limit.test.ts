import { describe, expect, it } from 'vitest';
import { htmlAsSent } from '../../../../src/core/newsletter/lifecycle/gmail-limit.ts';

const UNTRACKED = { opens: false, clicks: false };
const link = (url: string) => `<a href="${url}">`;
/** A link as SES leads it by way of its own, in a mail that was received. */
const LED =
  '<a href="https://3kx0qzpj.r.eu-central-1.awstrack.me/L0/https:%2F%2Fshop.example%2F%3Fa=1%26b=2/1/' +
  '0107019a2b3c4d5e-6f708192-a3b4-4c5d-8e6f-708192a3b4c5-000000/Qm9ndXMgc2lnbmF0dXJlIGhlcmUh=412">';

describe('the size of HTML as it is sent', () => {
  it.each([
    ['bytes in UTF-8', ['<p>', 'あé😀'], 3 + 3 + 2 + 4],
    ['a value, or a longer fallback', [{ field: 'name', fallback: 'y'.repeat(40) }], 40],
    ['a link to unsubscribe', [{ field: 'unsubscribe_url' }], 200],
  ])('counts %s', (_, html, bytes) => {
    expect(htmlAsSent(html, UNTRACKED)).toBe(bytes);
  });

  it('counts what SES makes of a link whose clicks it counts, and the pixel', () => {
    const html = [link('https://shop.example/?a=1&amp;b=2')];
    const led = htmlAsSent(html, { opens: false, clicks: true });
    expect(Math.abs(led - LED.length)).toBeLessThan(20);
    expect(htmlAsSent(html)).toBeGreaterThan(led);
    expect(htmlAsSent(['<a ses:no-track href="https://a.example/">'], { opens: false, clicks: true })).toBe(42);
    expect(htmlAsSent([link('mailto:a@example.com')], { opens: false, clicks: true })).toBe(31);
  });

  it('takes no long time, whatever stands in it', () => {
    const begun = performance.now();
    for (const piece of ['<a ', ' href', ' href =', ' href="https:', '\ud800 href=http:'])
      htmlAsSent([piece.repeat(50_000)]);
    expect(performance.now() - begun).toBeLessThan(2_000);
  });
});
