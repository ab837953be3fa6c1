// biome-ignore-all lint/performance/noBarrelFile: this is the entry point of `notification-retry/construct`, and users need all of these.

export { type StageConfig, StageConfigError, type StageConfigInput } from './config/stage-config.ts';
export { readStageConfig } from './config/stage-context.ts';
export type { OperatorRole } from './constructs/platform/grants.ts';
export { NotificationRetry } from './notification-retry.ts';
export { NotificationRetryStack, type NotificationRetryStackProps } from './notification-retry-stack.ts';
