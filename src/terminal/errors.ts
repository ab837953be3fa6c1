/** It could not be done. */
export const FAILED = 1;
/** The command was given what it does not take. */
export const MISUSED = 2;

/** A sentence for the operator that says what to do, and the exit code to end with. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
  readonly code: number;

  constructor(message: string, code: number = FAILED) {
    super(message);
    this.code = code;
  }
}

/** Errors whose message is written for operators. By name: the spool's commands do without what most of them belong to. */
const TOLD_WELL = new Set([
  'DeploymentNotFoundError',
  'SecretUnavailableError',
  'RedriveFailedError',
  'RedriveRunningError',
  'SpoolLockedError',
]);

/** What a fault means for whoever typed the command. */
export function describeError(error: unknown): { readonly sentence: string; readonly code: number } {
  if (error instanceof OperatorError) return { sentence: error.message, code: error.code };
  if (!(error instanceof Error)) return failed(`The command failed: ${String(error)}.`);
  if (TOLD_WELL.has(error.name)) return failed(error.message);
  if (/AccessDenied|NotAuthorized|UnauthorizedOperation/i.test(error.name)) {
    return failed(
      `You lack a right that this needs (${error.message}): docs/runbook.md, "Operator commands", lists them for each command.`,
    );
  }
  if (/CredentialsProvider|ExpiredToken|UnrecognizedClient|InvalidClientTokenId/i.test(error.name)) {
    return failed(`AWS does not know you (${error.message}): sign in to the deployment's account, or add --local.`);
  }
  if (isUnreachable(error)) {
    return failed(`The deployment's services cannot be reached (${reasonOf(error)}): is it still running?`);
  }
  return failed(`The command failed: ${error.name}: ${reasonOf(error)}. Nothing is lost; run it again.`);
}

function failed(sentence: string) {
  return { sentence, code: FAILED };
}

function isUnreachable(error: Error): boolean {
  const code = 'code' in error ? String(error.code) : '';
  return /ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ETIMEDOUT/.test(code) || error.message === 'fetch failed';
}

/** An AggregateError of failed connections has no message of its own. */
function reasonOf(error: Error): string {
  const text = error.message || ('code' in error ? String(error.code) : '') || 'no reason given';
  return text.replace(/\.$/, '');
}
