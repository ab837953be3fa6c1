import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { readStageConfig } from '../../../lib/config/stage-context.ts';
import { NotificationRetryStack } from '../../../lib/notification-retry-stack.ts';
import { PROJECT_ROOT } from '../project-root.ts';

/** The folders in functions/ that every stage deploys; those of the console and of outcomes come with these only. */
export const FUNCTIONS: readonly string[] = readdirSync(join(PROJECT_ROOT, 'functions')).filter(
  (name) => name !== 'shared' && !['outcomes', 'verify'].includes(name) && !name.startsWith('console-'),
);

/** The context of cdk.json, and what the CDK CLI adds to it. */
export function cliContext(): Readonly<Record<string, unknown>> {
  const cdkJson = JSON.parse(readFileSync(join(PROJECT_ROOT, 'cdk.json'), 'utf8'));
  return { ...cdkJson.context, 'aws:cdk:enable-asset-metadata': true, 'aws:cdk:enable-path-metadata': true };
}

/** An app as `npx cdk synth` runs it, but without bundling the functions and without the construct tree. */
export function appOf(context: Readonly<Record<string, unknown>> = {}): App {
  return new App({ treeMetadata: false, context: { ...cliContext(), ...context, 'aws:cdk:bundling-stacks': [] } });
}

/** The stack that bin/app.ts builds for a stage. */
export function stackOf(context: Readonly<Record<string, unknown>>): NotificationRetryStack {
  const app = appOf(context);
  return new NotificationRetryStack(app, 'Stack', { config: readStageConfig(app.node) });
}

export interface Resource {
  readonly id: string;
  /** CloudFormation's properties, which are untyped JSON. */
  readonly properties: Readonly<Record<string, unknown>>;
  readonly deletionPolicy: unknown;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** All resources of a type. It throws if there is none, so that no assertion passes on an empty list. */
export function resourcesOf(template: Template, type: string): Resource[] {
  const found = Object.entries(template.findResources(type));
  if (found.length === 0) throw new Error(`the template has no ${type}`);
  return found.map(([id, { Properties, DeletionPolicy, Metadata }]) => ({
    id,
    properties: Properties ?? {},
    deletionPolicy: DeletionPolicy,
    metadata: Metadata ?? {},
  }));
}

const templates = new Map<string, Template>();

/** The template of a stage, synthesized once per process of the tests: assertions only read it. */
export function templateOf(context: Readonly<Record<string, unknown>>): Template {
  const key = JSON.stringify(context);
  const template = templates.get(key) ?? Template.fromStack(stackOf(context));
  templates.set(key, template);
  return template;
}
