/** Highest first: the sweep walks them in this order. */
export const PRIORITIES = ['urgent', 'important', 'normal', 'info'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** The priority of the table's `priority_level`, for rows without `priority`. */
export const PRIORITY_OF_LEVEL = { HIGH: 'important', MEDIUM: 'normal', LOW: 'info' } as const;
