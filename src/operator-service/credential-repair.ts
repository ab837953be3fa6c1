import type { DeadGroup } from '../core/operator/dead-letters/dead-groups.ts';
import type { ShellCommand } from './contract/page.ts';
import type { ConsoleDeps } from './deps.ts';

const REFUSED: ReadonlySet<string> = new Set(['AUTH_FAILED', 'AUTH_TEMPORARY', 'PERMISSION_DENIED']);
/** Stacks are named by their stage, unless a team has put the construct into one of its own. */
const OWN_STACK = /^notification-retry-(.+)$/;

/** How the credential of a group's integration is replaced. Null when the cause is not its credential. */
export function credentialRepair(
  { channel, failure_reason, error_type, integration }: DeadGroup,
  { deployment: { secrets_file }, stage }: Pick<ConsoleDeps, 'deployment' | 'stage'>,
): ShellCommand | null {
  // Ids come from other systems: one that a shell would read otherwise is left to the runbook.
  if (integration === null || !REFUSED.has(error_type ?? failure_reason) || !/^[\w./-]+$/.test(integration))
    return null;
  if (secrets_file !== undefined) {
    return {
      label: `Put the right credential at integrations → ${integration} in this file. The local providers take every token but the revoked one.`,
      command: `\${EDITOR:-vi} '${secrets_file}'`,
    };
  }
  const name = `notification-retry/${OWN_STACK.exec(stage)?.[1] ?? 'STAGE'}/integrations/${channel}/${integration}`;
  return {
    label: 'Store the right credential, and redrive five minutes later, when every function has it',
    command: `aws secretsmanager put-secret-value --secret-id ${name} --secret-string file://credential.json`,
  };
}
