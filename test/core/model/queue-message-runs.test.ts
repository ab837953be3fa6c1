import { describe, expect, it } from 'vitest';
import { parseQueueMessage } from '../../../src/adapters/sqs/message-bodies.ts';
import { runOf, withToken } from '../../../src/core/model/queue-message.ts';
import { dueRow, messageFor } from '../../support/rows.ts';

describe('the run of a copy', () => {
  it('names its run, and differs from that of the original and of other copies', () => {
    const copies = ['a', 'b'].map((token) => withToken('sweep-1', token));
    expect(copies).toEqual(['sweep-1#a', 'sweep-1#b']);
    expect(copies.map(runOf)).toEqual(['sweep-1', 'sweep-1']);
    expect(runOf('sweep-1')).toBe('sweep-1');
  });

  it('stays as long as it is when a copy is copied', () => {
    expect(withToken(withToken('sweep-1', 'a'), 'b')).toBe('sweep-1#b');
  });

  it('fits into a message whatever the length of the run', () => {
    const message = messageFor(dueRow(), { run_id: withToken('r'.repeat(100), '123456789') });
    expect(parseQueueMessage(JSON.stringify(message))).toEqual(message);
  });
});
