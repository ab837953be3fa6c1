import { existsSync, readFileSync } from 'node:fs';
import * as v from 'valibot';
import { type Handle, sendJson } from '../../../http/loopback-server.ts';
import { type Log, writeWhole } from '../../support/running.ts';
import { nameInArn } from '../template/references.ts';

const created = v.object({
  GroupName: v.optional(v.string(), 'default'),
  ScheduleExpression: v.pipe(
    v.string(),
    v.regex(/^at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)$/, 'ScheduleExpression must be at(yyyy-mm-ddThh:mm:ss)'),
  ),
  ScheduleExpressionTimezone: v.optional(v.literal('UTC', 'ScheduleExpressionTimezone must be UTC'), 'UTC'),
  Target: v.object({
    Arn: v.pipe(v.string(), v.includes(':sqs:', 'Target.Arn must be a queue')),
    Input: v.optional(v.string(), '{}'),
  }),
});

interface OneTimeSchedule {
  readonly at: string;
  readonly queueName: string;
  readonly input: string;
}

export interface OneTimeSchedulesOptions {
  /** Keeps the schedules, so that they survive the runtime. */
  readonly file?: string;
  readonly send: (queueName: string, body: string) => Promise<unknown>;
  readonly log: Log;
}

export interface OneTimeSchedules {
  /** Answers CreateSchedule and DeleteSchedule below `/schedules/`. */
  readonly handle: Handle;
  stop(): void;
}

const TICK_MS = 1_000;

/**
 * EventBridge Scheduler's one-time schedules with a queue as their target. A schedule whose time passed while the
 * runtime was down runs at the start; each is removed after its message was sent.
 */
export function startOneTimeSchedules({ file, send, log }: OneTimeSchedulesOptions): OneTimeSchedules {
  const schedules = new Map<string, OneTimeSchedule>(file === undefined ? [] : read(file));
  const save = () => {
    if (file !== undefined) writeWhole(file, [...schedules]);
  };

  async function run(): Promise<void> {
    const now = new Date().toISOString();
    for (const [key, { at, queueName, input }] of schedules) {
      if (at > now) continue;
      try {
        await send(queueName, input);
        schedules.delete(key);
        save();
      } catch (error) {
        log(`schedule ${key}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  let busy = false;
  const timer = setInterval(async () => {
    if (busy) return;
    busy = true;
    await run();
    busy = false;
  }, TICK_MS);

  return {
    handle({ method, url = '/' }, response, body) {
      const { pathname, searchParams } = new URL(url, 'http://localhost');
      const name = decodeURIComponent(pathname.replace(/^\/schedules\//, ''));
      const fail = (status: number, type: string, message: string) => {
        response.setHeader('x-amzn-errortype', type);
        sendJson(response, status, { Message: message });
      };
      if (method === 'DELETE') {
        const key = `${searchParams.get('groupName') ?? 'default'}/${name}`;
        if (!schedules.delete(key)) return fail(404, 'ResourceNotFoundException', `Schedule ${name} does not exist.`);
        save();
        return sendJson(response, 200, {});
      }
      if (method !== 'POST') return fail(501, 'NotImplementedException', `The local runtime has no ${method} ${url}`);
      const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), created), body.toString());
      if (!parsed.success) return fail(400, 'ValidationException', v.summarize(parsed.issues));
      const { GroupName, ScheduleExpression, Target } = parsed.output;
      const key = `${GroupName}/${name}`;
      if (schedules.has(key)) return fail(409, 'ConflictException', `Schedule ${name} already exists.`);
      const at = `${ScheduleExpression.slice(3, -1)}.000Z`;
      schedules.set(key, { at, queueName: nameInArn(Target.Arn), input: Target.Input });
      save();
      sendJson(response, 200, { ScheduleArn: `arn:aws:scheduler:local:000000000000:schedule/${key}` });
    },
    stop: () => clearInterval(timer),
  };
}

function read(file: string): [string, OneTimeSchedule][] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as [string, OneTimeSchedule][]) : [];
}
