import { findAwsDeployment } from './aws-deployment.ts';
import type { Deployment } from './deployment.ts';
import { findLocalDeployment } from './local-deployment.ts';

/**
 * The deployment that a command works on: with `--local` the running local runtime of the current directory, otherwise
 * the one in AWS that the environment names.
 * @throws DeploymentNotFoundError
 */
export function findDeployment(local: boolean): Promise<Deployment> {
  return local ? findLocalDeployment(process.cwd()) : findAwsDeployment(process.env);
}
