import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openRecipients, sealRecipients } from '../../../../src/adapters/dynamodb/newsletter/chunk-store.ts';
import { createMemoryDataKeys } from '../../../../src/adapters/memory/memory-data-keys.ts';
import { createDataKeys } from '../../../../src/adapters/sealing/data-keys.ts';
import { createLocalKeyWrap } from '../../../../src/adapters/sealing/local-key-wrap.ts';
import { createSealer } from '../../../../src/adapters/sealing/sealer.ts';
import { UnreadableChunkError } from '../../../../src/core/newsletter/model/chunk.ts';
import { chunkOf, recipient } from '../../../support/newsletter/job-rows.ts';

describe('sealed recipients', () => {
  const recipients = Array.from({ length: 50 }, (_, n) =>
    recipient(n, {
      member_uuid: crypto.randomUUID(),
      member_email: `first.last${n}@example-${n % 9}.com`,
      ...(n % 2 === 0 && { member_name: `名前 ${n}` }),
    }),
  );
  const chunk = chunkOf(0, { recipients });
  const masterKey = randomBytes(32);
  const wrap = createLocalKeyWrap(async () => masterKey);
  const sealer = createSealer(createDataKeys({ store: createMemoryDataKeys(), wrap, clock: () => new Date() }));

  it('open as they were, in less than 5 KB for a full chunk', async () => {
    const sealed = await sealRecipients(chunk, sealer);
    expect(await openRecipients(chunk, sealed, sealer)).toEqual(recipients);
    expect(sealed.length).toBeLessThan(5 * 1024 - 150);
    expect(sealed).not.toContain('example');
  });

  it.each([{ chunk: 1 }, { batch_id: '00001' }, { email_id: 'email-2' }, { tenant_id: 'tenant-2' }])(
    'open in their place only, not in another one: %o',
    async (place) => {
      const sealed = await sealRecipients(chunk, sealer);
      await expect(openRecipients({ ...chunk, ...place }, sealed, sealer)).rejects.toThrow(UnreadableChunkError);
    },
  );
});
