import { Fn, Stack } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import { type IAccessLogSettings, LogGroupLogDestination } from 'aws-cdk-lib/aws-apigatewayv2';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';
import { removalPolicyOf } from '../storage/encryption.ts';

/** The caller, the route and the result of a request. The log has no path parameters, no headers and no bodies. */
const FORMAT = AccessLogFormat.custom(
  JSON.stringify({
    request_id: '$context.requestId',
    at: '$context.requestTimeEpoch',
    source_ip: '$context.identity.sourceIp',
    route: '$context.routeKey',
    status: '$context.status',
    tenant_id: '$context.authorizer.tenant_id',
    key_id: '$context.authorizer.key_id',
    latency_ms: '$context.responseLatency',
    function_latency_ms: '$context.integrationLatency',
    error: '$context.error.message',
    function_error: '$context.integrationErrorMessage',
  }),
);

/** @param name of the API */
export function accessLog(scope: Construct, name: string, config: StageConfig): IAccessLogSettings {
  const stack = Stack.of(scope);
  // A stack that is deployed again would meet the log that an earlier one of its name left.
  const unique = Fn.select(2, Fn.split('/', stack.stackId));
  const logGroup = new LogGroup(scope, 'AccessLog', {
    // API Gateway adds each other group to a policy of the account that holds 5,120 characters for all of them.
    logGroupName: `/aws/vendedlogs/${name}-${unique}`,
    retention: config.logRetentionDays,
    removalPolicy: removalPolicyOf(config),
  });
  return { destination: new LogGroupLogDestination(logGroup), format: FORMAT };
}
