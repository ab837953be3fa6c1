import { Problem } from '../../../src/core/model/problem.ts';
import { runClock } from '../../../src/core/newsletter/lifecycle/advance.ts';
import { type Publication, publishEmail, replaceEmail } from '../../../src/core/newsletter/lifecycle/publish.ts';
import { resolveEmail } from '../../../src/core/newsletter/lifecycle/resolve.ts';
import type { EmailContent } from '../../../src/core/newsletter/model/email.ts';
import { START } from '../engine/virtual-time.ts';
import { WorkerProcess } from '../models/worker-process.ts';
import { NEWSLETTER, TENANT } from './members.ts';
import { depsOf } from './newsletter-deps.ts';
import { EMAIL_ID, type NewsletterWorld } from './newsletter-world.ts';

/** How an email is published. */
export interface Publishing {
  readonly segment?: string;
  readonly window_minutes?: number | undefined;
  /** Seconds after the start at which it is due; undefined: now. */
  readonly delay_s?: number | undefined;
}

/** One use case, by a process of its own. @returns what it returns or throws; undefined when the process dies */
export function operate<T>(
  world: NewsletterWorld,
  run: (deps: ReturnType<typeof depsOf>) => Promise<T>,
): Promise<T | unknown> {
  const { time, draw, limit_ms, running } = world;
  const { onDeath } = world.machine('operator');
  const ends = time.now + limit_ms;
  return new Promise((resolve) => {
    const worker = new WorkerProcess(time, (dead, death) => {
      onDeath(dead, death);
      resolve(undefined);
    });
    const { deaths, calls } = world.faults;
    if (deaths > 0 && draw() < deaths) worker.dieAt(Math.floor(draw() * calls * 2));
    running.add(worker);
    time.at(ends, () => running.has(worker) && worker.die('timeout'));
    const end = (result: unknown) => {
      running.delete(worker);
      if (result instanceof Error && !(result instanceof Problem)) world.fault(result);
      resolve(result);
    };
    run(depsOf(world, worker, () => ends - time.now)).then(end, end);
  });
}

export function publish(world: NewsletterWorld, publishing: Publishing = {}): Promise<unknown> {
  return operate(world, (deps) => publishEmail(publicationOf(publishing), deps));
}

/** What an operator does who has seen a mistake before the email starts. */
export function replace(world: NewsletterWorld, publishing: Publishing): Promise<unknown> {
  return operate(world, async (deps) => {
    const email = await deps.emails.read(EMAIL_ID);
    if (email !== undefined) await replaceEmail(email, publicationOf(publishing), deps);
  });
}

function publicationOf({ segment, window_minutes, delay_s }: Publishing): Publication {
  const at = START.toISOString();
  const newsletter = { tenant_id: TENANT, newsletter_id: NEWSLETTER, name: 'News', from: 'News <news@example.test>' };
  const content: EmailContent = {
    subject: 'secret subject',
    body: 'secret body',
    format: 'text',
    newsletter: { ...newsletter, created_at: at, updated_at: at },
  };
  return {
    email_id: EMAIL_ID,
    request_hash: 'hash',
    tenant_id: TENANT,
    content,
    ...(segment !== undefined && { segment }),
    ...(window_minutes !== undefined && { delivery_window_minutes: window_minutes }),
    ...(delay_s !== undefined && { scheduled_at: new Date(START.getTime() + delay_s * 1000).toISOString() }),
  };
}

/** The clock's function, which runs each minute. */
export async function runClockOnce(world: NewsletterWorld): Promise<void> {
  const due = await world.tables.emails.due(world.time.clock().toISOString(), 1);
  if (due.some(({ status, paused }) => status === 'pending' && !paused)) world.count('late starts');
  await operate(world, runClock);
}

/** What an operator does about uncertain recipients. */
export async function resend(world: NewsletterWorld): Promise<void> {
  for (const { member, state } of await world.recipients()) if (state === 'uncertain') world.auditor.allowed(member);
  await operate(world, async (deps) => {
    const { resolved, waiting } = await resolveEmail(EMAIL_ID, 'resend', deps);
    world.count('resent', resolved);
    world.count('waiting', waiting);
  });
}
