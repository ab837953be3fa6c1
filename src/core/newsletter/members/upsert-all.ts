import { type GivenMember, MAX_UPSERTS, type UpsertDeps, upsertMembers } from './upsert-members.ts';

/** What became of a member: it was stored, or storage failed. */
export type UpsertOutcome = { readonly created: boolean } | Error;

/** Calls of storage at once. */
const AT_ONCE = 4;

/**
 * Upserts any number of members of a tenant. Those with the same id are one member: what the later one gives counts.
 * @returns an outcome per member, in order. A failure of storage concerns up to 100 members.
 */
export async function upsertAll(
  tenant_id: string,
  given: readonly GivenMember[],
  deps: UpsertDeps,
): Promise<readonly UpsertOutcome[]> {
  const byId = new Map<string, GivenMember>();
  for (const member of given) byId.set(member.member_id, { ...byId.get(member.member_id), ...member });
  const outcomes = new Map<string, UpsertOutcome>();
  const waiting = [...byId.values()];
  const work = async () => {
    for (let batch = waiting.splice(0, MAX_UPSERTS); batch.length > 0; batch = waiting.splice(0, MAX_UPSERTS)) {
      try {
        const created = await upsertMembers(tenant_id, batch, deps);
        for (const { member_id } of batch) outcomes.set(member_id, { created: created.has(member_id) });
      } catch (cause) {
        const error = cause instanceof Error ? cause : new Error(String(cause));
        for (const { member_id } of batch) outcomes.set(member_id, error);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return given.map(({ member_id }) => outcomes.get(member_id) ?? new Error('The member was not stored.'));
}
