import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { createEmailSchedules, type ScheduleTarget } from '../../../src/adapters/scheduler/email-schedules.ts';

/** In a module of its own, so that Scheduler's client is loaded with the first email that has a time. */
export function createScheduleAccess(target: ScheduleTarget) {
  return createEmailSchedules(new SchedulerClient({}), target);
}
