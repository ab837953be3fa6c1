import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Deployment } from '../../../src/adapters/deployment/deployment.ts';
import { createDeploymentClients } from '../../../src/adapters/deployment/deployment-clients.ts';
import { type Loopback, replying, startLoopback } from '../../support/loopback.ts';

let server: Loopback;
beforeEach(async () => {
  server = await startLoopback();
  server.answer = replying(200, '{"Attributes":{}}', { 'content-type': 'application/x-amz-json-1.0' });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await server.close();
});

it.each(['AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_SQS'])(
  'queues are called at %s, as the functions call them',
  async (name) => {
    vi.stubEnv(name, server.url);
    const settings = { region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 's' } };
    const { sqs, destroy } = createDeploymentClients({ clients: { dynamodb: settings, sqs: settings } } as Deployment);
    await sqs.send(new GetQueueAttributesCommand({ QueueUrl: 'https://sqs.nowhere.invalid/000000000000/lane' }));
    expect(server.received).toHaveLength(1);
    destroy();
  },
);
