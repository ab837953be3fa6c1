import type { ScheduleTarget } from '../../../src/adapters/scheduler/email-schedules.ts';
import type { NewsletterQueueUrls } from '../../../src/adapters/sqs/newsletter-queues.ts';
import type { NewsletterQueues, Schedules } from '../../../src/core/newsletter/model/ports.ts';
import type { BulkProvider } from '../../../src/core/newsletter/model/provider.ts';
import type { PartSegments } from '../../../src/core/newsletter/preparation/ports.ts';
import type { Renderings } from '../../../src/core/newsletter/sending/send-deps.ts';
import { onFirstUse } from '../runtime/on-first-use.ts';

/** SES, whose client is loaded with the first email: most invocations only read or record. */
export function sesOnFirstEmail(configurationSet: string) {
  const ses = onFirstUse(async () => (await import('./ses-access.ts')).createSesAccess(configurationSet));
  const provider: BulkProvider = { send: async (call) => (await ses()).provider.send(call) };
  return { provider, senderFault: async (from: string) => (await ses()).senderFault(from) };
}

/** The queues, whose client is loaded with the first message. */
export function queuesOnFirstMessage(urls: NewsletterQueueUrls): NewsletterQueues {
  const queues = onFirstUse(async () => (await import('./queue-access.ts')).createQueueAccess(urls));
  return {
    prepare: async (...args) => (await queues()).prepare(...args),
    send: async (...args) => (await queues()).send(...args),
  };
}

/** The schedules, whose client is loaded with the first email that has a time. */
export function schedulesOnFirstEmail(target: ScheduleTarget): Schedules {
  const schedules = onFirstUse(async () => (await import('./schedule-access.ts')).createScheduleAccess(target));
  return {
    create: async (...args) => (await schedules()).create(...args),
    remove: async (...args) => (await schedules()).remove(...args),
  };
}

/** The renderings, whose HTML parser is loaded with the first email. */
export function renderingsOnFirstEmail(): Renderings {
  const renderings = onFirstUse(async () =>
    (await import('../../../src/adapters/post/post-renderer.ts')).createRenderings(),
  );
  return { of: async (...args) => (await renderings()).of(...args) };
}

/** Which members see which part, whose HTML parser is loaded with the first email. */
export function partsOnFirstEmail(): PartSegments {
  const parts = onFirstUse(async () =>
    (await import('../../../src/adapters/post/post-renderer.ts')).createPartSegments(),
  );
  return { of: async (...args) => (await parts()).of(...args) };
}
