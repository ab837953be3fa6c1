import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPublisher } from '../../../../src/adapters/sns/death-notices.ts';
import { type AwsClients, awsClients } from '../../../../src/local/emulator/aws-clients.ts';
import { showNotices } from '../../../../src/local/emulator/sources/show-notices.ts';
import { type StandIn, startSqs } from '../../../../src/local/stand-ins/stand-ins.ts';
import { eventually, scratch } from '../../../support/local/tiny-app.ts';

describe('notices to operators', () => {
  let directory: ReturnType<typeof scratch>;
  let sqs: StandIn;
  let clients: AwsClients;

  beforeEach(async () => {
    directory = scratch();
    sqs = await startSqs(undefined, join(directory.path, 'sqs.log'));
    clients = awsClients('http://127.0.0.1:9', sqs.endpoint);
  });
  afterEach(async () => {
    clients.destroy();
    await sqs.child.stop();
    directory.remove();
  });

  it('are shown with their subject and stored with their text', async () => {
    const file = join(directory.path, 'notices.log');
    const subjects: string[] = [];
    const log = (line: string) => {
      throw new Error(line);
    };
    const onNotice = (subject: string) => subjects.push(subject);
    const notices = await showNotices({ clients, sqsEndpoint: sqs.endpoint, topics: ['alerts'], file, onNotice, log });
    const publish = createPublisher(clients.sns, 'arn:aws:sns:us-east-1:000000000000:alerts');
    await publish({ subject: 'three given up', text: '3 × slack: AUTH_FAILED\n' });

    await eventually(() => (subjects.length > 0 ? true : undefined), 10_000);
    expect(subjects).toEqual(['three given up']);
    expect(readFileSync(file, 'utf8')).toMatch(/^\S+Z three given up\n\n3 × slack: AUTH_FAILED\n/);
    await notices.stop();
  });
});
