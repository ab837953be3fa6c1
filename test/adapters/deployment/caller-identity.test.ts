import { afterEach, describe, expect, it, vi } from 'vitest';
import { retryPolicyJson } from '../../../lib/config/settings-json.ts';
import { parseStageConfig } from '../../../lib/config/stage-config.ts';
import { findDeployment } from '../../../src/adapters/deployment/aws-deployment.ts';
import { callerIdentity } from '../../../src/adapters/deployment/caller-identity.ts';
import { type HttpServer, serve } from '../../../src/http/loopback-server.ts';

const ARN = 'arn:aws:sts::123456789012:assumed-role/Operators/mori';
const client = {
  config: {
    region: async () => 'eu-west-1',
    credentials: async () => ({ accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 'token' }),
  },
} as unknown as Parameters<typeof callerIdentity>[1];

let server: HttpServer | undefined;
afterEach(() => {
  vi.unstubAllEnvs();
  return server?.close();
});

/** An STS that answers so; what it is asked. */
async function sts(status: number, text: string) {
  const asked: { readonly authorization?: string | undefined; readonly token: unknown; readonly body: string }[] = [];
  server = await serve(
    ({ headers }, response, body) => {
      asked.push({ authorization: headers.authorization, token: headers['x-amz-security-token'], body: String(body) });
      response.writeHead(status, { 'content-type': 'text/xml' }).end(text);
    },
    0,
    'STS',
  );
  return { asked, env: { AWS_ENDPOINT_URL_STS: server.url } };
}

describe('whose credentials these are', () => {
  it('is the ARN that STS answers, asked in the region with all of the credentials', async () => {
    const { asked, env } = await sts(200, `<GetCallerIdentityResult>\n<Arn>${ARN}</Arn></GetCallerIdentityResult>`);
    expect(await callerIdentity(env, client)).toBe(ARN);
    expect(asked).toEqual([
      {
        authorization: expect.stringMatching(/Credential=AKID\/\d{8}\/eu-west-1\/sts\/aws4_request/),
        token: 'token',
        body: 'Action=GetCallerIdentity&Version=2011-06-15',
      },
    ]);
  });

  it('is who acts on a stage in AWS, whatever the user of the shell is called', async () => {
    const tables = [
      'NotificationLog',
      'NotificationContent',
      'NotificationRetryLog',
      'PipelineState',
      'Audit',
      'DataKeys',
    ];
    const outputs = {
      ...Object.fromEntries(tables.map((name) => [`${name}Table`, name])),
      LaneQueues: '{}',
      DeadLetterQueues: '{}',
      SweepIntervalSeconds: '3600',
      RecipientKey: 'arn:aws:kms:x',
      RetryPolicy: retryPolicyJson(parseStageConfig({ stage: 'dev', senderAddress: 'a@example.com' })),
    };
    const members = Object.entries(outputs).map(
      ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
    );
    const { env } = await sts(
      200,
      `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>x</StackName><Outputs>${members.join('')}</Outputs></member></Stacks></DescribeStacksResult><Arn>${ARN}</Arn></DescribeStacksResponse>`,
    );
    const signedIn = {
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'AKID',
      AWS_SECRET_ACCESS_KEY: 'secret',
      USER: 'root',
    };
    for (const [name, value] of Object.entries({ ...env, ...signedIn, AWS_ENDPOINT_URL: env.AWS_ENDPOINT_URL_STS })) {
      vi.stubEnv(name, value);
    }
    expect(await (await findDeployment(false)).operator?.()).toBe(ARN);
  });

  it.each([
    [403, '<Error><Code>ExpiredToken</Code><Message>secret</Message></Error>', 'ExpiredToken'],
    [500, 'no', 'status 500'],
    [200, '<Arn></Arn>', 'status 200'],
  ])('is not guessed from %i %s', async (status, text, why) => {
    const { env } = await sts(status, text);
    await expect(callerIdentity(env, client)).rejects.toThrow(
      `AWS does not say whose credentials these are, so nobody could be written to the audit log: ${why}.`,
    );
  });
});
