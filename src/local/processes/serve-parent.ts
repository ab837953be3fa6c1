/** The child's side of a process that `startChild` started. Stand-ins are loaded by plain `node`, so no other import here. */

/** What a child says once: that it is up, with what its users need, or why it cannot be. */
export type Announcement = { readonly ready: Readonly<Record<string, unknown>> } | { readonly failed: string };

/**
 * Starts what this process is for and says so to its parent. When the parent is gone, however it ended, this process ends too:
 * nothing may go on writing to a data directory that the next runtime already uses.
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
