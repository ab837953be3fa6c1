import { OperatorError } from '../../terminal/errors.ts';
import { opsCommand } from './next-step.ts';
import type { Session } from './session.ts';

export function notificationNotFound(log_id: string): OperatorError {
  return new OperatorError(`There is no notification ${log_id}: look for its log_id with \`npm run ops -- list\`.`);
}

export function keyNotFound(key_id: string): OperatorError {
  return new OperatorError(`There is no key ${key_id} that is not revoked: see \`npm run ops -- keys list\`.`);
}

/** @param known the newsletters that the tenant has, for a command that has read them */
export function newsletterNotFound(
  tenant: string,
  newsletter: string,
  session: Pick<Session, 'local'>,
  known?: readonly string[],
): OperatorError {
  const those = known === undefined ? '' : `: it has ${known.length === 0 ? 'none yet' : known.join(', ')}`;
  return new OperatorError(
    `${tenant} has no newsletter ${newsletter}${those}. PUT /v1/newsletters/${newsletter} makes it; a key with ` +
      `newsletters:write comes from \`${opsCommand('keys create', session)}\`.`,
  );
}
