import type { Deployment } from '../../adapters/deployment/deployment.ts';
import { createNewsletterReads, createVerifyReads } from '../../adapters/dynamodb/operator/verify-reads.ts';
import { peekLetters } from '../../adapters/sqs/dead-letters.ts';
import { queueCounts } from '../../adapters/sqs/lanes.ts';
import { type Channel, channelsIn } from '../../core/model/channels.ts';
import type { Verification, VerifyDeps, VerifyPorts } from '../../core/verify/verification.ts';
import { verify } from '../../core/verify/verify.ts';
import type { OperatorDeps } from '../deps.ts';

export type ScanDeps = Pick<OperatorDeps, 'dynamodb' | 'sqs' | 'shards'> & {
  readonly deployment: Pick<Deployment, 'tables' | 'lane_queues'> & {
    readonly dead_letter_queues: Readonly<Partial<Record<Channel, string | undefined>>>;
  };
};

/** Read units per second unless an operator says otherwise: less than a sixth of what one partition gives. */
export const VERIFY_RATE = 500;
export const VERIFY_SAMPLE = 1_000;

/** Verifies the deployment, from where the state is until its end or until somebody stops it. Reads only. */
export async function runVerification(
  state: Verification,
  deps: ScanDeps & Omit<VerifyDeps, keyof ReturnType<typeof verificationOf>> & { readonly rate: number },
): Promise<void> {
  await verify(state, { ...deps, ...verificationOf(deps, deps.rate) });
}

/** What a verification of the deployment reads. @param rate read units per second */
export function verificationOf(deps: ScanDeps, rate = VERIFY_RATE) {
  const terms = async () => ({ shards: (await deps.shards()).work });
  return { ports: verifyPorts(deps), terms, random: Math.random, rate };
}

function verifyPorts({ deployment, dynamodb, sqs, shards }: ScanDeps): VerifyPorts {
  const { tables, lane_queues, dead_letter_queues } = deployment;
  const { dead, ...reads } = createVerifyReads(dynamodb, tables, async () => (await shards()).work);
  const channels = channelsIn(lane_queues);
  const held = async (url: string) => {
    const { visible, in_flight, delayed } = await queueCounts(sqs, url);
    return visible + in_flight + delayed;
  };
  const lettersOf = (channel: string) => dead_letter_queues[channel as Channel] ?? '';
  const has = Object.keys(tables).includes('emails');
  return {
    ...reads,
    ...(has && { newsletters: createNewsletterReads(dynamodb, tables) }),
    letters: {
      channels,
      dead,
      async counts(channel) {
        const lanes = Object.values(lane_queues[channel as Channel] ?? {});
        const on_the_way = (await Promise.all(lanes.map(held))).reduce((sum, count) => sum + count, 0);
        return { letters: await held(lettersOf(channel)), on_the_way };
      },
      async *walk(channel) {
        for await (const letters of peekLetters(sqs, lettersOf(channel))) {
          yield letters.map(({ message_id, message }) => {
            return { message_id, log_id: message?.log_id ?? '', run_id: message?.run_id ?? '' };
          });
        }
      },
    },
  };
}
