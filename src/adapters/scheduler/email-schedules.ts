import {
  ConflictException,
  CreateScheduleCommand,
  DeleteScheduleCommand,
  ResourceNotFoundException,
  SchedulerClient,
} from '@aws-sdk/client-scheduler';
import type { PrepareMessage } from '../../core/newsletter/model/email-message.ts';
import type { Schedules } from '../../core/newsletter/model/ports.ts';

export interface ScheduleTarget {
  readonly group: string;
  /** Queue that starts preparations. */
  readonly queue_arn: string;
  /** Role by which EventBridge Scheduler may send to the queue. */
  readonly role_arn: string;
}

/** In this module, so that it is loaded with what uses it. */
export const createScheduler = () => new SchedulerClient({});

/** One-time schedules of EventBridge Scheduler. Each is named after its email and removes itself after it ran. */
export function createEmailSchedules(
  client: SchedulerClient,
  { group: GroupName, queue_arn, role_arn }: ScheduleTarget,
): Schedules {
  return {
    async create(email_id, at) {
      const message: PrepareMessage = { version: 1, kind: 'start', email_id };
      const command = new CreateScheduleCommand({
        Name: email_id,
        GroupName,
        ScheduleExpression: `at(${wholeSecond(at)})`,
        ScheduleExpressionTimezone: 'UTC',
        FlexibleTimeWindow: { Mode: 'OFF' },
        ActionAfterCompletion: 'DELETE',
        Target: { Arn: queue_arn, RoleArn: role_arn, Input: JSON.stringify(message) },
      });
      // An email's time never changes, so a schedule that exists is the same.
      await ignoring(ConflictException, client.send(command));
    },
    async remove(email_id) {
      await ignoring(ResourceNotFoundException, client.send(new DeleteScheduleCommand({ Name: email_id, GroupName })));
    },
  };
}

/** The second in which the time has come: Scheduler knows no milliseconds, and an early start would be refused. */
function wholeSecond(at: string): string {
  return new Date(Math.ceil(Date.parse(at) / 1_000) * 1_000).toISOString().slice(0, 19);
}

async function ignoring(kind: new (...args: never) => Error, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof kind)) throw error;
  }
}
