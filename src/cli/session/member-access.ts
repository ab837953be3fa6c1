import { createMemberStore } from '../../adapters/dynamodb/newsletter/member-store.ts';
import { createNewsletterStore } from '../../adapters/dynamodb/newsletter/newsletter-store.ts';
import { createMemberSealing } from '../../adapters/recipient/member-sealing.ts';
import type { Session } from './session.ts';

/** What commands need that work on members. */
export function memberAccess({ deployment, dynamodb, clock, newId }: Session) {
  let loading: Promise<string> | undefined;
  const hashKey = () => {
    loading ??= deployment.recipientHashKey();
    return loading;
  };
  return {
    members: createMemberStore(dynamodb, deployment.tables.members, clock),
    newsletters: createNewsletterStore(dynamodb, deployment.tables.newsletters),
    sealing: createMemberSealing(deployment.sealer(dynamodb), hashKey),
    clock,
    newId,
  };
}

export type MemberAccess = ReturnType<typeof memberAccess>;
