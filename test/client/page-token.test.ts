import { describe, expect, it } from 'vitest';
import { createTokenCall } from '../../src/client/handover/api-request.ts';
import type { Answer } from '../../src/client/handover/retry-rules.ts';

const call = (answer: Partial<Answer> | string) => {
  const asked: unknown[] = [];
  const create = createTokenCall(async (path, body) => {
    asked.push(path, body);
    return typeof answer === 'string' ? answer : { status: 201, json: undefined, repeat: false, ...answer };
  });
  return { create, asked };
};

describe('the token for a page', () => {
  it('is what the API answers', async () => {
    const json = { token: 'nrt_x', expires_at: '2026-11-22T10:00:00.000Z' };
    const { create, asked } = call({ json });
    expect(await create({ log_ids: ['NL1'], ttl_seconds: 60 })).toEqual(json);
    expect(asked).toEqual(['/v1/tokens', { log_ids: ['NL1'], ttl_seconds: 60 }]);
  });

  it.each<[Partial<Answer> | string, RegExp]>([
    [{ status: 403, json: { detail: 'This API key lacks the scope send.' } }, /status 403\. This API key lacks/],
    [{ status: 201, json: {} }, /status 201/],
    ['timeout', /no answer \(timeout\)/],
  ])('is refused with the reason of %o', async (answer, message) => {
    await expect(call(answer).create({ send: true })).rejects.toThrow(message);
  });
});
