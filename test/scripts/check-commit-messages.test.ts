import { describe, expect, it } from 'vitest';
import { faultsOfMessage } from '../../tools/scripts/check-commit-messages.ts';

describe('a commit message', () => {
  it.each([
    'feat: take notifications in by an idempotent API',
    'fix(client): keep what cannot be handed over\n\nThe disk was full.',
    'feat!: drop Node 18\n\nBREAKING CHANGE: Node 20 is needed.',
    'chore(main): release 0.2.0',
    `docs: ${'x'.repeat(114)}`,
  ])('is accepted: %j', (message) => expect(faultsOfMessage(message)).toEqual([]));

  it.each([
    ['has no type', 'Add a client', /^the subject must be "<type>: /],
    ['has an unknown type', 'feature: add a client', /with a type of feat, fix,/],
    ['has no description', 'feat: ', /^the subject must be/],
    ['ends with a full stop', 'feat: add a client.', /full stop/],
    ['is too long', `docs: ${'x'.repeat(115)}`, /at most 120 characters, it has 121/],
    ['has no empty line before its body', 'feat: add a client\nIt is needed.', /second line must be empty/],
  ])('that %s is refused', (_, message, fault) => {
    expect(faultsOfMessage(message)).toEqual([expect.stringMatching(fault)]);
  });
});
