import pc from 'picocolors';
import { findAwsDeployment } from '../adapters/deployment/aws-deployment.ts';
import { DeploymentNotFoundError } from '../adapters/deployment/deployment.ts';
import { findLocalDeployment } from '../adapters/deployment/local-deployment.ts';
import { JobUsageError, parseJobOptions, USAGE } from './job-options.ts';
import { silentProgress, terminalProgress } from './job-progress.ts';
import { describeResult } from './job-report.ts';
import { runJob } from './run-job.ts';

/** BATCH-952 as a command. Exit codes: 0 done, 1 it could not be done, 2 wrong arguments. */
async function main(args: readonly string[]): Promise<number> {
  const options = parseJobOptions(args);
  if (options === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  const deployment = options.local ? await findLocalDeployment(process.cwd()) : await findAwsDeployment(process.env);
  const progress = options.json ? silentProgress : terminalProgress(process.stderr);
  const result = await runJob(options.request, deployment, { wait: options.wait, progress });
  const colors = pc.createColors(process.stdout.isTTY && pc.isColorSupported);
  process.stdout.write(options.json ? `${JSON.stringify(result)}\n` : describeResult(result, colors));
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof JobUsageError) {
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    process.exitCode = 2;
  } else if (error instanceof DeploymentNotFoundError) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } else {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    process.stderr.write(
      `The run failed: ${reason}\nNothing is lost: what was not dispatched stays due. Run it again.\n`,
    );
    process.exitCode = 1;
  }
}
