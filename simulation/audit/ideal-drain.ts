import { WINDOW_HOURS } from './end-promises.ts';

/** A notification that waits when a provider is back. */
export interface Waiting {
  readonly priority: string;
  /** Epoch milliseconds at which it was handed over, which is before its first attempt. */
  readonly since: number;
}

/** What nobody can do better: urgent first, oldest first, without a pause. @returns how many expire all the same */
export function idealExpired(waiting: readonly Waiting[], now: number, per_second: number): number {
  let sent = 0;
  let expired = 0;
  for (const [priority, hours] of Object.entries(WINDOW_HOURS)) {
    const deadlines = waiting
      .filter((one) => one.priority === priority)
      .map(({ since }) => since + hours * 3_600_000)
      .sort((a, b) => a - b);
    for (const deadline of deadlines) {
      if (now + (sent / per_second) * 1000 > deadline) expired += 1;
      else sent += 1;
    }
  }
  return expired;
}
