import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { findDeployment } from '../adapters/deployment/aws-deployment.ts';
import { createDeploymentClients } from '../adapters/deployment/deployment-clients.ts';
import { emailAccess } from '../application/emails/email-access.ts';
import { requireEmail, showEmail } from '../application/emails/emails.ts';
import { requestStart, type StartRequest } from '../core/newsletter/lifecycle/operate.ts';
import { describeError } from '../terminal/errors.ts';
import { printResult } from '../terminal/output.ts';
import { showProgress } from '../terminal/progress.ts';
import { processTerminal } from '../terminal/terminal.ts';
import { describeEmail, followEmail } from './sending-job/email-report.ts';
import { parseSendingJobOptions, type SendingJobOptions, USAGE } from './sending-job/sending-job-options.ts';

const terminal = processTerminal();

/** batch-sending-service-job: the job of one e-mail, started by hand. */
async function main(options: SendingJobOptions): Promise<number> {
  const { email_id, wait, json, local } = options;
  const deployment = await findDeployment(local);
  const clients = createDeploymentClients(deployment);
  const progress = showProgress({ terminal, json });
  process.once('exit', progress.end);
  try {
    const access = emailAccess({ deployment, ...clients, clock: () => new Date(), newId: randomUUID, local });
    await requireEmail(email_id, access);
    const request = await requestStart(email_id, access);
    if (request.result === 'skipped') progress.note(`Skipped: ${request.reason}`);
    const view = wait
      ? await followEmail(email_id, access, progress, (ms) => setTimeout(ms))
      : (await showEmail(email_id, access)).view;
    progress.end();
    printResult({ terminal, json }, { ...request, email: view }, () => describeEmail(view, local));
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
  const options = parseSendingJobOptions(process.argv.slice(2));
  if (options === 'help') terminal.print(USAGE);
  else process.exitCode = await main(options);
} catch (error) {
  const { message, exitCode: code } = describeError(error);
  terminal.say(`${message}\n`);
  process.exitCode = code;
}
