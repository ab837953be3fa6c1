/** Changes of storage that one request makes at once: enough for a million recipients in seconds, few enough to throttle none. */
export const AT_ONCE = 20;

/** The items in groups of at most `size`, in order. */
export function groupsOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
