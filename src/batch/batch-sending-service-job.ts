import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createDeploymentClients } from '../adapters/deployment/deployment-clients.ts';
import { emailAccess, readEmailView } from '../adapters/deployment/email-access.ts';
import { findDeployment } from '../adapters/deployment/find-deployment.ts';
import { requestStart, type StartRequest } from '../core/newsletter/lifecycle/request-start.ts';
import { describeError, EXIT_USAGE, OperatorError } from '../terminal/errors.ts';
import { showProgress } from '../terminal/progress.ts';
import { processTerminal } from '../terminal/terminal.ts';
import { describeEmail, doneOf, isOver, summaryOf } from './sending-job/email-report.ts';

const USAGE = `Usage: npm run batch:batch-sending-service-job -- --email-id=ID [options]

Starts the sending of a newsletter's e-mail that is pending or failed; otherwise it says why it is skipped.

  --email-id=ID   the email_id
  --wait          waits until the e-mail is submitted, failed or cancelled
  --json          prints one JSON object on stdout
  --local         uses the running local runtime instead of AWS
  --help

Exit codes: 0 started or skipped (with --wait: submitted), 1 it could not be started or sent, 2 wrong arguments.
`;

const FLAGS = {
  'email-id': { type: 'string' },
  wait: { type: 'boolean' },
  json: { type: 'boolean' },
  local: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

interface JobOptions {
  readonly email_id: string;
  readonly wait: boolean;
  readonly json: boolean;
  readonly local: boolean;
}

const LOOK_EVERY_MS = 2_000;
const terminal = processTerminal();

/** @throws OperatorError that names what is wrong */
function readOptions(args: readonly string[]): JobOptions | 'help' {
  try {
    const { values } = parseArgs({ args: [...args], options: FLAGS, strict: true, allowPositionals: false });
    if (values.help === true) return 'help';
    const email_id = values['email-id'] ?? '';
    if (!/^[\w-]{1,50}$/.test(email_id)) throw new TypeError('--email-id=ID is required: the id of an e-mail');
    return { email_id, wait: values.wait === true, json: values.json === true, local: values.local === true };
  } catch (error) {
    throw new OperatorError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`, EXIT_USAGE);
  }
}

/** batch-sending-service-job: the job of one e-mail, started by hand. */
async function main(options: JobOptions): Promise<number> {
  const { email_id, wait, json } = options;
  const deployment = await findDeployment(options.local);
  const clients = createDeploymentClients(deployment);
  const progress = showProgress({ terminal, json });
  process.once('exit', progress.end);
  try {
    const access = emailAccess({ deployment, ...clients, clock: () => new Date(), newId: randomUUID });
    const request = await requestStart(email_id, access);
    let view = await readEmailView(email_id, access);
    if (request.result === 'skipped') progress.note(`Skipped: ${request.reason}`);
    while (wait && !isOver(view)) {
      const total = view.counts.recipients || undefined;
      progress.update({ verb: view.phase, done: doneOf(view), total, summary: summaryOf(view) });
      await setTimeout(LOOK_EVERY_MS);
      view = await readEmailView(email_id, access);
    }
    progress.end();
    terminal.print(json ? `${JSON.stringify({ ...request, email: view })}\n` : describeEmail(view, terminal.colors));
    return exitCode(request, wait, view.status === 'submitted');
  } finally {
    progress.end();
    clients.destroy();
  }
}

function exitCode({ result }: StartRequest, wait: boolean, submitted: boolean): number {
  if (wait) return submitted ? 0 : 1;
  return result === 'started' || result === 'skipped' ? 0 : 1;
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') terminal.print(USAGE);
  else process.exitCode = await main(options);
} catch (error) {
  const { message, exitCode: code } = describeError(error);
  terminal.say(`${message}\n`);
  process.exitCode = code;
}
