import { expect, it } from 'vitest';
import { byFewerParameters, pathParameters } from '../../src/http/paths.ts';

it.each([
  ['/v1/emails/{email_id}', '/v1/emails/a%20b', { email_id: 'a%20b' }],
  ['/v1/emails/{email_id}/{action}', '/v1/emails/e/retry', { email_id: 'e', action: 'retry' }],
  ['/v1/emails', '/v1/emails', {}],
  ['/v1/emails/{email_id}', '/v1/emails/', undefined],
  ['/v1/emails/{email_id}', '/v1/emails/a/b', undefined],
  ['/v1/emails/{email_id}', '/v1/members/a', undefined],
])('%s finds in %s what stands for its parameters', (pattern, path, found) => {
  expect(pathParameters(pattern, path)).toEqual(found);
});

it('prefers a literal segment', () => {
  expect([{ id: 'new' }, {}].sort(byFewerParameters)).toEqual([{}, { id: 'new' }]);
});
