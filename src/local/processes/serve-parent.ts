/** The child's side of `startChild`. Plain `node` runs the stand-ins, so this file imports nothing. */

/** A child's only message about its start: it is ready, with data for its users, or it failed. */
export type Announcement = { readonly ready: Readonly<Record<string, unknown>> } | { readonly failed: string };

/**
 * Runs `start` and announces the result to the parent. This process ends when its parent ends for any reason, because
 * it must not write to a data directory that the next runtime already uses.
 */
export async function serveParent(
  start: () => Promise<Readonly<Record<string, unknown>>>,
  stop: () => void | Promise<void> = () => {},
): Promise<void> {
  process.once('disconnect', async () => {
    await stop();
    process.exit(0);
  });
  try {
    announce({ ready: await start() });
  } catch (error) {
    announce({ failed: error instanceof Error ? error.message : String(error) });
  }
}

function announce(announcement: Announcement): void {
  process.send?.(announcement);
}
