import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { describe, expect, it } from 'vitest';
import { readStageConfig } from '../../../lib/config/stage-context.ts';

const stages = {
  dev: { senderAddress: 'dev@example.com', concurrency: { slack: { express: 4 } } },
  prod: { senderAddress: 'prod@example.com', schedule: 'rate(30 minutes)' },
};

function read(context: Record<string, unknown>) {
  return readStageConfig(new App({ context: { 'notification-retry': { stages }, ...context } }).node);
}

describe('the configuration in the CDK context', () => {
  it('is that of dev unless another stage is chosen', () => {
    expect(read({})).toMatchObject({ stage: 'dev', senderAddress: 'dev@example.com' });
    expect(read({ stage: 'prod' })).toMatchObject({ stage: 'prod', schedule: 'rate(30 minutes)' });
  });

  it('is overridden by values of the command line, which are text', () => {
    const config = read({
      'notification-retry.concurrency.slack.standard': '3',
      'notification-retry.baseIntervalSeconds': '60',
      'notification-retry.schedule': 'rate(5 minutes)',
    });

    expect(config.concurrency.slack).toEqual({ express: 4, standard: 3 });
    expect(config).toMatchObject({ baseIntervalSeconds: 60, schedule: 'rate(5 minutes)' });
  });

  it.each([
    [
      'a stage that is not there',
      { stage: 'test' },
      'stage (-c stage=<name>) is "test", but notification-retry.stages has only dev, prod',
    ],
    ['a stage named like something every object has', { stage: 'constructor' }, 'has only dev, prod'],
    ['no stages', { 'notification-retry': {} }, 'notification-retry must be an object {"stages": {"dev": {…}}}'],
    [
      'a key beside stages',
      { 'notification-retry': { stages, stage: 'dev' } },
      'notification-retry.stage is not a known key; known is stages',
    ],
    [
      'a stage that is text',
      { 'notification-retry': { stages: { dev: 'x' } } },
      'notification-retry.stages.dev must be an object',
    ],
    [
      'a fault in cdk.json',
      { 'notification-retry': { stages: { dev: { ...stages.dev, logLevel: 'ALL' } } } },
      'notification-retry.stages.dev.logLevel must be DEBUG',
    ],
    [
      'a stage within a stage',
      { 'notification-retry': { stages: { dev: { ...stages.dev, stage: 'x' } } } },
      'notification-retry.stages.dev.stage is not a known key',
    ],
    [
      'a fault on the command line',
      { 'notification-retry.maxRetries.info': 'many' },
      'notification-retry.maxRetries.info must be a whole number from 0 to 100 (retries), is "many"',
    ],
    [
      'an unknown key on the command line',
      { 'notification-retry.maxRetry': '3' },
      'notification-retry.maxRetry is not a known key',
    ],
  ])('is refused with %s, named by its place', (_, context, message) => expect(() => read(context)).toThrow(message));

  it.each(['dev', 'prod'])('of the repository has a valid stage %s', (stage) => {
    const { context } = JSON.parse(readFileSync(new URL('../../../cdk.json', import.meta.url), 'utf8'));

    expect(readStageConfig(new App({ context: { ...context, stage } }).node).stage).toBe(stage);
  });
});
