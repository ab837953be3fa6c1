import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 90_000;

/**
 * Waits for what other processes bring about.
 * @returns the first answer that is neither undefined nor false
 * @throws Error that names what did not happen within 90 seconds
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > deadline)
      throw new Error(`within ${PATIENCE_MS / 1000} seconds it did not come true that ${what}`);
    await sleep(250);
  }
}
