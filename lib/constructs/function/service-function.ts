import { Duration } from 'aws-cdk-lib';
import { type PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Function as LambdaFunction, RecursiveLoop, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';
import { removalPolicyOf } from '../storage/removal-policy.ts';
import { functionBundle } from './function-bundle.ts';

/** Namespace of the stage's own metrics. */
export function metricNamespace({ stage }: Pick<StageConfig, 'stage'>): string {
  return `notification-retry/${stage}`;
}

export interface ServiceFunctionProps {
  readonly config: StageConfig;
  /** Folder under functions/ with the handler; also the service name in logs and metrics. */
  readonly name: string;
  readonly description: string;
  readonly timeout: Duration;
  /** What it sends may start it again, as often as the domain allows (docs/decisions/0031). */
  readonly feedsItself?: boolean;
  /** As the function's entry in functions/shared/runtime/env.ts says. */
  readonly environment: Readonly<Record<string, string>>;
  /** All that the function may do besides writing its log. */
  readonly permissions: readonly PolicyStatement[];
}

/** One of the project's Lambda functions: arm64, with a role and a log of its own. */
export class ServiceFunction extends LambdaFunction {
  readonly ownRole: Role;
  /** Its folder under functions/. */
  readonly service: string;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    const { config, name } = props;
    // A role of our own, as the one CDK makes takes a managed policy that may write to any log.
    const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    const logGroup = new LogGroup(scope, `${id}Log`, {
      retention: config.logRetentionDays,
      removalPolicy: removalPolicyOf(config),
    });
    logGroup.grantWrite(role);
    for (const permission of props.permissions) role.addToPrincipalPolicy(permission);

    super(scope, id, {
      description: props.description,
      code: functionBundle(name),
      handler: 'index.handler',
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
        POWERTOOLS_METRICS_NAMESPACE: metricNamespace(config),
        POWERTOOLS_LOG_LEVEL: config.logLevel,
        ...props.environment,
      },
    });
    this.ownRole = role;
    this.service = name;
  }
}

/** Longest life of a channel function and of the due-indexer. */
export const SHORT_TIMEOUT = Duration.seconds(60);
