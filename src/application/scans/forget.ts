import { createForgetStore } from '../../adapters/dynamodb/operator/forget-store.ts';
import { mailbox } from '../../adapters/email/address.ts';
import { recipientHash } from '../../adapters/signing/hashed-ids.ts';
import type { ForgetState } from '../../core/forget/forget-state.ts';
import { type ForgetRun, forget } from '../../core/forget/run-forget.ts';
import { newRunId } from '../../core/model/queue-message.ts';
import { deleteMember } from '../../core/newsletter/members/left-addresses.ts';
import { type Decision, decisionOf } from '../../core/operator/audit.ts';
import type { OperatorDeps } from '../deps.ts';
import { memberAccess } from '../members/members.ts';

/** The recipient to erase, in every spelling that the pipeline takes for the same. */
export interface Recipient {
  readonly tenant: string;
  readonly address: string;
  readonly hashes: readonly string[];
  readonly hash: (address: string) => string;
}

/** An address as it was typed, and as SES takes it (ASCII domain): rows hold either. */
export async function recipientOf(
  tenant: string,
  address: string,
  { deployment }: Pick<OperatorDeps, 'deployment'>,
): Promise<Recipient> {
  const key = await deployment.recipientHashKey();
  const hash = (text: string) => recipientHash(key, tenant, text);
  const spellings = [address, mailbox(address) ?? address];
  return { tenant, address, hashes: [...new Set(spellings.map(hash))], hash };
}

/** What stays, and for how long: nobody can erase it here. */
export const REMAINS = [
  'Backups (point-in-time recovery) and the tables’ streams keep what was erased for up to 35 days.',
  'Addresses in the sealed chunks of newsletters expire after newsletter.recipientDays (90 by default).',
  'Hashes of suppressions and unsubscriptions stay, and the mark that the address is gone: they keep the promise not to write again.',
  'If the recipient was corrected before, what providers say later about attempts to the former address is kept in records and logs.',
  'Audit entries about who saw, suppressed or corrected the address keep its keyed hash for 400 days.',
] as const;

/**
 * Erases the recipient, from where the state is. The audit log says who did it for which tenant, and how much was erased:
 * neither the address nor its hash, which would lead whoever has the key back to it.
 */
export function forgetRecipient(
  { tenant, address, hashes, hash }: Recipient,
  state: ForgetState,
  given: Pick<ForgetRun, 'dry_run' | 'rate' | 'isStopping' | 'pause' | 'onProgress'>,
  deps: OperatorDeps,
): Decision<object> {
  const { dynamodb, deployment, clock, records, newId } = deps;
  const isTheirs = (other: string) => hashes.includes(hash(other)) || hashes.includes(hash(mailbox(other) ?? other));
  const store = createForgetStore({
    client: dynamodb,
    tables: deployment.tables,
    sealer: deployment.sealer(dynamodb),
    clock,
    tenant_id: tenant,
    hashes,
    isTheirs,
  });
  const run = { ...given, run_id: newRunId('manual', newId()) };
  const ports = { ...store, records, clock, names: namesOf(address), ...membersOf(tenant, hashes, deps) };
  return decisionOf(run.dry_run ? undefined : { what: 'forget', on: [tenant] }, async () => {
    await forget(state, ports, run);
    const { notifications, records: wiped, members, left } = state;
    return { answer: {}, result: { ...notifications, records: wiped, members, left } };
  });
}

function membersOf(tenant: string, hashes: readonly string[], deps: OperatorDeps) {
  if (!Object.keys(deps.deployment.tables).includes('members')) return {};
  const { members } = memberAccess(deps);
  return {
    members: {
      async find() {
        const found = await Promise.all(hashes.map((one) => members.address(tenant, one)));
        return found.flatMap((one) => (one?.members ?? []).map(({ member_id }) => member_id));
      },
      async remove(member_id: string) {
        await deleteMember(tenant, member_id, 'erased', { members, clock: deps.clock });
      },
    },
  };
}

/** Finds an address or a URL in any column. Another recipient, such as the id of a channel, may be a word of any text. */
function namesOf(address: string): (value: unknown) => boolean {
  const text = address.trim().toLowerCase();
  const isTelling = /@|:\/\//.test(text);
  return (value) => isTelling && JSON.stringify(value)?.toLowerCase().includes(text) === true;
}
