import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { createRequestSigner } from '../direct-calls/sigv4.ts';
import { DeploymentNotFoundError } from './deployment.ts';

const TIMEOUT_MS = 5_000;
const BODY = 'Action=GetCallerIdentity&Version=2011-06-15';

/**
 * The ARN of whose credentials these are, by the word of STS, which refuses nobody: the name of the shell's user is
 * whatever somebody calls a user of a machine.
 * @param client of whatever service: it knows region and credentials
 * @throws DeploymentNotFoundError when AWS does not say
 */
export async function callerIdentity(
  env: Readonly<Record<string, string | undefined>>,
  client: Pick<CloudFormationClient, 'config'> = new CloudFormationClient(),
): Promise<string> {
  try {
    const region = await client.config.region();
    const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
    const endpoint = env['AWS_ENDPOINT_URL_STS'] || env['AWS_ENDPOINT_URL'] || `https://sts.${region}.${domain}`;
    const url = new URL('/', endpoint);
    const headers = { host: url.host, 'content-type': 'application/x-www-form-urlencoded' };
    const signer = createRequestSigner({ region, service: 'sts' });
    const signed = signer.sign({ path: '/', headers, body: BODY }, await client.config.credentials(), new Date());
    const { host: _, ...rest } = signed;
    const answer = await fetch(url, {
      method: 'POST',
      headers: rest,
      body: BODY,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await answer.text();
    const arn = /<Arn>\s*([^<\s]+)\s*<\/Arn>/.exec(text)?.[1];
    if (arn !== undefined) return arn;
    throw new Error(/<Code>([\w.]+)<\/Code>/.exec(text)?.[1] ?? `status ${answer.status}`);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'unknown error';
    throw new DeploymentNotFoundError(
      `AWS does not say whose credentials these are, so nobody could be written to the audit log: ${reason}.`,
      { cause },
    );
  }
}
