import { Duration } from 'aws-cdk-lib';
import { type PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Function as LambdaFunction, RecursiveLoop, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { FUNCTION_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import type { FunctionName } from '../../config/function-memory.ts';
import { monitoringOf } from '../../config/parts.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { removalPolicyOf } from '../storage/encryption.ts';
import { functionBundle } from './function-bundle.ts';
import { acknowledgeWildcard, type WildcardPermission } from './nag-acknowledgements.ts';
import { networkRights, useKeyOf } from './permissions.ts';

export const metricNamespace = ({ stage }: Pick<StageConfig, 'stage'>): string => `notification-retry/${stage}`;

/** What functions measure (functions/shared/runtime/observability.ts). */
const METRICS = {
  full: {},
  critical: { MONITORING: 'critical' },
  off: { POWERTOOLS_METRICS_DISABLED: 'true' },
} as const;

export interface ServiceFunctionProps {
  readonly config: StageConfig;
  /** The handler's folder in functions/, which is also the service name in logs and metrics. */
  readonly name: FunctionName;
  readonly description: string;
  readonly timeout: Duration;
  /** Its messages may start it again as often as the domain does (docs/decisions/aws/lanes-and-functions.md#0031). */
  readonly allowRecursion?: boolean;
  /** Invocations that are kept for this function, and its most at once; none are kept unless given. */
  readonly reservedConcurrency?: number | undefined;
  /** The variables that functions/shared/runtime/env.ts declares for the function. */
  readonly environment: Readonly<Record<string, string>>;
  /** All rights of the function, except to write its log, and those with a `*`. */
  readonly permissions: readonly PolicyStatement[];
  readonly wildcards?: readonly WildcardPermission[];
}

/** A Lambda function of the project: arm64, with a role and a log of its own. */
export class ServiceFunction extends LambdaFunction {
  readonly executionRole: Role;
  /** The handler's folder in functions/. */
  readonly service: string;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    const { config, name } = props;
    // CDK's default role has a managed policy that may write to every log.
    const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    const logGroup = new LogGroup(scope, `${id}Log`, {
      retention: config.logRetentionDays,
      removalPolicy: removalPolicyOf(config),
    });
    logGroup.grantWrite(role);
    for (const permission of [...props.permissions, ...useKeyOf('sqs', scope, config)])
      role.addToPrincipalPolicy(permission);
    for (const { statement, resource, reason } of [...(props.wildcards ?? []), ...networkRights(config)]) {
      role.addToPrincipalPolicy(statement);
      acknowledgeWildcard(role, resource, reason);
    }

    super(scope, id, {
      // By its beginning `ops restore --stop` knows the functions of a stage.
      description: `notification-retry ${config.stage}: ${props.description}`,
      code: functionBundle(name),
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: config.memoryMb[name],
      timeout: props.timeout,
      // Lambda stops a chain of 16 invocations, because it takes the chain for a defect: a notification that a
      // provider's rate limit delays more often would end in the DLQ. Deadline and limit end these chains
      // (docs/decisions/aws/lanes-and-functions.md#0031).
      ...(props.allowRecursion && { recursiveLoop: RecursiveLoop.ALLOW }),
      ...(props.reservedConcurrency !== undefined && { reservedConcurrentExecutions: props.reservedConcurrency }),
      role,
      logGroup,
      environment: {
        POWERTOOLS_SERVICE_NAME: name,
        POWERTOOLS_METRICS_NAMESPACE: metricNamespace(config),
        POWERTOOLS_LOG_LEVEL: config.logLevel,
        ...METRICS[monitoringOf(config)],
        ...props.environment,
      },
    });
    this.executionRole = role;
    this.service = name;
  }
}

/** The timeout of the channel functions, the due-indexer, the monitor and the delivery events. */
export const SHORT_TIMEOUT = Duration.millis(FUNCTION_MS);
