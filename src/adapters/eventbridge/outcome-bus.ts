import { createHash } from 'node:crypto';
import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { type Hash, OUTCOME_SOURCE } from '../../core/outcomes/outcome.ts';
import type { OutcomeBus } from '../../core/outcomes/tell-outcomes.ts';

/** 128 bits: outcomes of one stage never share an id. */
export const outcomeHash: Hash = (text) => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** OutcomeBus on EventBridge. A request may be taken in part; what was refused has an error code in place of an id. */
export function createOutcomeBus(client: Pick<EventBridgeClient, 'send'>, EventBusName: string): OutcomeBus {
  return {
    async put(outcomes) {
      const { Entries = [] } = await client.send(
        new PutEventsCommand({
          Entries: outcomes.map(({ kind, detail }) => ({
            EventBusName,
            Source: OUTCOME_SOURCE,
            DetailType: kind,
            Detail: JSON.stringify(detail),
          })),
        }),
      );
      return outcomes.map((_, i) => Entries[i]?.EventId !== undefined);
    },
  };
}
