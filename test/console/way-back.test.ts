import fc from 'fast-check';
import { expect, it } from 'vitest';
import { wayBack } from '../../console/data/sign-in/oidc.ts';

const ORIGIN = 'https://console.example';

it.each([
  ['/notifications?channel=slack', '/notifications?channel=slack'],
  ['//evil.example', '/evil.example'],
  ['//evil.example/a//b?c=//d', '/evil.example/a//b?c=//d'],
  ['/\\evil.example', '/evil.example'],
  ['///', '/'],
])('the way back to %s stays on this host: %s', (opened, back) => {
  expect(wayBack(new URL(`${ORIGIN}${opened}`))).toBe(back);
});

it('no way back leads to another host', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'/\\.@:?#ax%') }), (rest) => {
      const opened = new URL(`${ORIGIN}/${rest}`);
      expect(new URL(wayBack(opened), ORIGIN).origin).toBe(ORIGIN);
    }),
  );
});
