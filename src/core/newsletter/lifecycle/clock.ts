import type { EmailStore } from '../model/ports.ts';
import { type AdvanceDeps, advance } from './advance.ts';

export interface ClockDeps extends AdvanceDeps {
  readonly emails: AdvanceDeps['emails'] & Pick<EmailStore, 'due'>;
}

/** Emails that one run of the clock looks at. */
const MOST = 200;

/**
 * Runs each minute: whatever got lost (a schedule, a message, a sender, a preparation) leaves its email in the active
 * index past its time. One email that fails does not hold up the others.
 */
export async function runClock(deps: ClockDeps): Promise<{ readonly advanced: number; readonly failed: number }> {
  let failed = 0;
  const due = await deps.emails.due(deps.clock().toISOString(), MOST);
  for (const { email_id } of due) {
    try {
      await advance(email_id, deps);
    } catch (error) {
      failed += 1;
      const name = error instanceof Error ? error.name : 'unknown error';
      deps.log.warn(`Email ${email_id} could not be advanced`, { email_id, error: name });
    }
  }
  return { advanced: due.length - failed, failed };
}
