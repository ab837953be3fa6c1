import type { MemberPlace } from './ports.ts';

/** The addresses that a member has left when it moves on to another one, and whose facts may still have to follow. */
export function leftAddresses({ email_hash, moved_from = [] }: MemberPlace, to: string): readonly string[] {
  return [...new Set([...moved_from, email_hash])].filter((from) => from !== to);
}
