import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { smokeStack } from './stack.ts';

/** US dollars per month, in us-east-1, for what costs by the time that it exists. */
const PER_MONTH: Readonly<Record<string, number>> = {
  'AWS::KMS::Key': 1,
  'AWS::CloudWatch::Alarm': 0.1,
  'AWS::CloudWatch::Dashboard': 3,
  'AWS::SecretsManager::Secret': 0.4,
};
/** The metrics of the functions: about 60 custom metrics, at $0.30 a month each. */
const METRICS_PER_MONTH = 60 * 0.3;
const HOURS_PER_MONTH = 730;
/** Requests, function time, logs and mails of one run together: less than this. */
const REQUESTS = 0.05;

export interface Cost {
  readonly resources: readonly { readonly type: string; readonly count: number; readonly usd: number }[];
  readonly usd: number;
}

/** What a run costs at most, in US dollars, when its stack exists for so many hours. */
export function costOf(hours: number): Cost {
  const template = smokeTemplate();
  const resources = Object.entries(PER_MONTH).map(([type, monthly]) => {
    const count = Object.keys(template.findResources(type)).length;
    return { type, count, usd: (count * monthly * hours) / HOURS_PER_MONTH };
  });
  const metrics = { type: 'custom metrics', count: 60, usd: (METRICS_PER_MONTH * hours) / HOURS_PER_MONTH };
  const all = [...resources, metrics];
  return { resources: all, usd: REQUESTS + all.reduce((sum, { usd }) => sum + usd, 0) };
}

function smokeTemplate(): Template {
  const cdkJson = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'cdk.json'), 'utf8'));
  // Only the kinds of resources count here, so nothing is bundled.
  const app = new App({ context: { ...cdkJson.context, 'aws:cdk:bundling-stacks': [] } });
  return Template.fromStack(smokeStack(app, 'noreply@your-domain.example'));
}
