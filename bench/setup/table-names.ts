import type { TableRole } from '../../src/adapters/dynamodb/schema.ts';
import type { World } from './world.ts';

/** The deployed tables by role, from a channel function's environment. */
export function tableNames(
  world: Pick<World, 'functionPlan'>,
): Record<Exclude<TableRole, 'pipeline_state' | 'api_keys' | 'data_keys' | 'audit'>, string> {
  const { environment } = world.functionPlan('send-webhook');
  const name = (variable: string) => {
    const value = environment[variable];
    if (value === undefined) throw new Error(`send-webhook has no ${variable} in its environment`);
    return value;
  };
  return {
    notification_log: name('NOTIFICATION_LOG_TABLE'),
    notification_content: name('NOTIFICATION_CONTENT_TABLE'),
    notification_retry_log: name('NOTIFICATION_RETRY_LOG_TABLE'),
  };
}
