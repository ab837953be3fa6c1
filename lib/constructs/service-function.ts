import { join } from 'node:path';
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { type PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, RecursiveLoop, Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { isProduction, type StageConfig } from '../stage-config.ts';

const PROJECT_ROOT = join(import.meta.dirname, '..', '..');

/**
 * Ways to credentials that the SDK imports when the environment has none, which on Lambda it always has: they would
 * be an eighth of every bundle.
 */
const UNUSED_ON_LAMBDA = [
  '@aws-sdk/credential-provider-http',
  '@aws-sdk/credential-provider-ini',
  '@aws-sdk/credential-provider-process',
  '@aws-sdk/credential-provider-sso',
  '@aws-sdk/credential-provider-web-identity',
  '@smithy/credential-provider-imds',
] as const;

export interface ServiceFunctionProps {
  readonly config: StageConfig;
  /** Folder under functions/ with the handler; also the service name in logs and metrics. */
  readonly name: string;
  readonly description: string;
  readonly timeout: Duration;
  /** What it sends may start it again, as often as the domain allows (docs/decisions/0031). */
  readonly feedsItself?: boolean;
  /** As the function's entry in functions/shared/env.ts says. */
  readonly environment: Readonly<Record<string, string>>;
  /** All that the function may do besides writing its log. */
  readonly permissions: readonly PolicyStatement[];
}

/** One of the project's Lambda functions: arm64, bundled by the local esbuild, with a role and a log of its own. */
export class ServiceFunction extends NodejsFunction {
  readonly ownRole: Role;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    const { config, name } = props;
    // A role of our own, as the one CDK makes takes a managed policy that may write to any log.
    const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    const logGroup = new LogGroup(scope, `${id}Log`, {
      retention: config.logRetentionDays,
      removalPolicy: isProduction(config) ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    logGroup.grantWrite(role);
    for (const permission of props.permissions) role.addToPrincipalPolicy(permission);

    super(scope, id, {
      description: props.description,
      entry: join(PROJECT_ROOT, 'functions', name, 'handler.ts'),
      projectRoot: PROJECT_ROOT,
      depsLockFilePath: join(PROJECT_ROOT, 'package-lock.json'),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: 256,
      timeout: props.timeout,
      // Lambda takes a chain of 16 for a defect and drops what would go on: a notification that a provider's rate limit
      // sends round more often would end in the DLQ. Deadline and limit end these chains, see docs/decisions/0031.
      ...(props.feedsItself && { recursiveLoop: RecursiveLoop.ALLOW }),
      role,
      logGroup,
      environment: {
        POWERTOOLS_SERVICE_NAME: name,
        POWERTOOLS_METRICS_NAMESPACE: `notification-retry/${config.stage}`,
        POWERTOOLS_LOG_LEVEL: config.logLevel,
        ...props.environment,
      },
      // Only version 2 of the AWS SDK knows this setting.
      awsSdkConnectionReuse: false,
      bundling: {
        format: OutputFormat.ESM,
        target: 'node24',
        minify: true,
        mainFields: ['module', 'main'],
        // The AWS SDK goes into the bundle: what was tested is what runs, whatever the runtime has on board, and
        // only the parts in use are loaded at a cold start.
        externalModules: [...UNUSED_ON_LAMBDA],
        // Tables of characters are shorter than their escapes. This CDK does not hand its `charset` on.
        esbuildArgs: { '--charset': 'utf8' },
        // CommonJS dependencies call require, which ES modules do not have.
        banner:
          "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
      },
    });
    this.ownRole = role;
  }
}

/** Longest life of a channel function and of the due-indexer. */
export const SHORT_TIMEOUT = Duration.seconds(60);
