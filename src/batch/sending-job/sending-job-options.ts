import { parseArgs } from 'node:util';
import { EXIT_USAGE, OperatorError, SEE_HELP } from '../../terminal/errors.ts';

export const USAGE = `Usage: npm run batch:batch-sending-service-job -- --email-id=ID [options]

Starts the sending of a newsletter's e-mail that is pending or failed; otherwise
it says why it is skipped.

  --email-id=ID   the email_id
  --wait          waits until the e-mail is submitted, failed or cancelled
  --json          prints one JSON object on stdout
  --local         uses the running local runtime instead of AWS
  --help

Exit codes: 0 started or skipped (with --wait: submitted),
1 it could not be started or sent, 2 wrong arguments.
`;

const FLAGS = {
  'email-id': { type: 'string' },
  wait: { type: 'boolean' },
  json: { type: 'boolean' },
  local: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

export interface SendingJobOptions {
  readonly email_id: string;
  readonly wait: boolean;
  readonly json: boolean;
  readonly local: boolean;
}

/**
 * Reads the arguments of the job.
 * @returns 'help' if the arguments ask for it.
 * @throws OperatorError that names what is wrong.
 */
export function parseSendingJobOptions(args: readonly string[]): SendingJobOptions | 'help' {
  try {
    const { values } = parseArgs({ args: [...args], options: FLAGS, strict: true, allowPositionals: false });
    if (values.help === true) return 'help';
    const email_id = values['email-id'] ?? '';
    if (!/^[\w-]{1,50}$/.test(email_id)) throw new TypeError('--email-id=ID is required: the id of an e-mail');
    return { email_id, wait: values.wait === true, json: values.json === true, local: values.local === true };
  } catch (error) {
    throw new OperatorError(`${error instanceof Error ? error.message : String(error)}\n${SEE_HELP}`, EXIT_USAGE);
  }
}
