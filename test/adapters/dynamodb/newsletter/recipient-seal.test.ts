import { randomBytes } from 'node:crypto';
import type { BatchWriteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import {
  createChunkStore,
  openRecipients,
  sealRecipients,
} from '../../../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createLocalKeyWrap } from '../../../../src/adapters/sealing/data-keys.ts';
import { createDataKeys, createSealer } from '../../../../src/adapters/sealing/sealer.ts';
import { UnreadableChunkError } from '../../../../src/core/newsletter/model/batch.ts';
import { createMemoryDataKeys } from '../../../../tools/simulation/twins/pipeline-state.ts';
import { chunkOf, chunkState, recipient } from '../../../support/newsletter/job-rows.ts';

const NOW = new Date('2026-03-01T11:00:00.000Z');

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

  it('expire after the days of the stage, and the states of their chunk after two years', async () => {
    const expiry: Record<string, number> = {};
    const client = {
      async send({ input }: BatchWriteItemCommand) {
        for (const { PutRequest } of Object.values(input.RequestItems ?? {}).flat()) {
          const { chunk: place, expires_at } = PutRequest?.Item ?? {};
          expiry[String(place?.S)] = (Number(expires_at?.N) - NOW.getTime() / 1000) / 86_400;
        }
        return { UnprocessedItems: {} };
      },
    } as unknown as DynamoDBClient;
    const put = (days: { recipient_days?: number }) =>
      createChunkStore(client, { table: 'recipients', sealer, clock: () => NOW, ...days }).put([
        { chunk, state: chunkState('.'.repeat(50)) },
      ]);
    await put({ recipient_days: 30 });
    expect(expiry).toEqual({ '00000': 30, 'state#00000': 730 });
    await put({});
    expect(expiry).toEqual({ '00000': 90, 'state#00000': 730 });
  });

  it.each([{ chunk: 1 }, { batch_id: '00001' }, { email_id: 'email-2' }, { tenant_id: 'tenant-2' }])(
    'open in their place only, not in another one: %o',
    async (place) => {
      const sealed = await sealRecipients(chunk, sealer);
      await expect(openRecipients({ ...chunk, ...place }, sealed, sealer)).rejects.toThrow(UnreadableChunkError);
    },
  );
});
