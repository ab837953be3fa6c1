import { ExplainedError } from '../core/model/problem.ts';
/** Exit code: the command could not be carried out. */
export const EXIT_FAILED = 1;
/** Exit code: an argument, an option or a setting is wrong. */
export const EXIT_USAGE = 2;

/** Below what is wrong with the arguments: the whole usage would push that off the screen. */
export const SEE_HELP = 'Add --help to see what it takes.';

/** An error whose message tells the operator what to do. */
export class OperatorError extends ExplainedError {
  override readonly name = 'OperatorError';
  override readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT_FAILED) {
    super(message);
    this.exitCode = exitCode;
  }
}

export interface DescribedError {
  /** One line: what is wrong, and what the operator can do. */
  readonly message: string;
  readonly exitCode: number;
}

/** Explains an error to the person who typed the command. */
export function describeError(error: unknown): DescribedError {
  if (error instanceof OperatorError) return { message: error.message, exitCode: error.exitCode };
  if (!(error instanceof Error)) return failed(`The command failed: ${String(error)}.`);
  // First, because it may be the cause of an error that explains itself: a stack or a secret that cannot be read.
  const denial = denialIn(error);
  if (denial !== undefined) return failed(describeDenial(denial));
  // The client stands alone: its error is known by name.
  if (error.name === 'SpoolLockedError') return failed(error.message);
  if (error instanceof ExplainedError) return { message: error.message, exitCode: error.exitCode };
  if (/CredentialsProvider|ExpiredToken|UnrecognizedClient|InvalidClientTokenId/i.test(error.name)) {
    return failed(`AWS does not know you (${error.message}): sign in to the deployment's account, or add --local.`);
  }
  if (/Region is missing/i.test(error.message)) {
    return failed(
      'There is no AWS region: set AWS_REGION to that of the deployment, such as eu-central-1, or add --local.',
    );
  }
  if (isUnreachable(error)) {
    return failed(`The deployment's services cannot be reached (${reasonOf(error)}): is it still running?`);
  }
  return failed(`The command failed: ${error.name}: ${reasonOf(error)}. Nothing is lost; run it again.`);
}

const DENIED = /AccessDenied|NotAuthorized|UnauthorizedOperation|AuthorizationError/i;
/** How AWS names the action; the quotes are SES's. DynamoDB names it so for a single statement of a batch, too. */
const DENIED_ACTION = /not authorized to perform:? [`"'[]?([a-z][\w-]*:\w+)/i;

/** The error by which AWS denied a call: the error itself, or one of its causes. */
function denialIn(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  return DENIED.test(error.name) || DENIED_ACTION.test(error.message) ? error : denialIn(error.cause);
}

function describeDenial(error: Error): string {
  const [, action] = DENIED_ACTION.exec(error.message) ?? [];
  const right = action === undefined ? 'a right that AWS does not name' : `the right ${action}`;
  const where = 'docs/runbook.md, "Operator commands", lists the rights of each command';
  return `You lack ${right}. ${where}. AWS says: ${reasonOf(error)}`;
}

const failed = (message: string): DescribedError => ({ message, exitCode: EXIT_FAILED });

function isUnreachable(error: Error): boolean {
  const code = 'code' in error ? String(error.code) : '';
  return /ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ETIMEDOUT/.test(code) || error.message === 'fetch failed';
}

/** The message of an error. An AggregateError of failed connections has no message, only a code. */
function reasonOf(error: Error): string {
  const text = error.message || ('code' in error ? String(error.code) : '') || 'no reason given';
  return text.replace(/\.$/, '');
}

/** Why a file that the operator named cannot be read, without the words of the system where there are plainer ones. */
export function unreadableFile(path: string, cause: unknown): string {
  return codeOf(cause) === 'ENOENT' ? `There is no file ${path}.` : faultOf(path, 'read', codeOf(cause));
}

/** Why a file cannot be written that the operator named. */
export function unwritableFile(path: string, cause: unknown): string {
  if (codeOf(cause) === 'ENOENT') return `${path} cannot be written: its folder does not exist.`;
  return faultOf(path, 'write', codeOf(cause));
}

const DONE = { read: 'read', write: 'written' } as const;

function faultOf(path: string, verb: keyof typeof DONE, code: string): string {
  if (code === 'EISDIR') return `${path} is a folder, not a file.`;
  if (code === 'ELOOP') return `${path} is a link, which is not followed: name the file itself.`;
  if (code === 'EACCES') return `You may not ${verb} the file ${path}.`;
  return `${path} cannot be ${DONE[verb]} (${code}).`;
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
}
