import { expect, it } from 'vitest';
import { nextRequestId } from '../../console/data/decision.ts';
import { Problem, problemDocument } from '../../src/core/model/problem.ts';

const GONE = { type: 'about:blank', title: '', status: 0, detail: '', remedy: '' };

it.each([0, 502, 503, 504])('a form keeps its request_id after %i: the attempt may have taken effect', (status) => {
  expect(nextRequestId('first', { ...GONE, status })).toBe('first');
});

it.each(['request-in-progress', 'conflict'] as const)('a form keeps its request_id after %s', (name) => {
  expect(nextRequestId('first', { ...problemDocument(new Problem(name, '')), remedy: '' })).toBe('first');
});

it.each(['invalid-request', 'forbidden', 'not-found', 'idempotency-key-reused'] as const)(
  'a form has another request_id after %s, which decided nothing',
  (name) => {
    const next = nextRequestId('first', { ...problemDocument(new Problem(name, '')), remedy: '' });
    expect(next).toMatch(/^[\w-]{36}$/);
  },
);
