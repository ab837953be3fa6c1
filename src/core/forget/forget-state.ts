import type { PageCursor } from '../model/work-index.ts';
import { SEGMENTS } from '../verify/verification.ts';

/** Looked at again when whoever works on it must have ended. */
export interface Later {
  readonly log_id: string;
  readonly of: 'row' | 'content';
  readonly at: number;
  readonly looks: number;
}

export const FORGET_PHASES = ['rows', 'contents', 'members', 'later', 'done'] as const;

/** How far an erasure is: plain data that does not hold the address. */
export interface ForgetState {
  /** When this scan began. */
  started_at: string;
  phase: (typeof FORGET_PHASES)[number];
  cursors: (PageCursor | 'end' | null)[];
  scanned: number;
  /** By what became of them, or in a preview by their states. */
  readonly notifications: Record<string, number>;
  records: number;
  /** Notifications for others that would have gone on to the recipient. */
  fallbacks: number;
  contents_without_row: number;
  members: number;
  /** log_ids that contain the address: they are keys, and stay. */
  named: number;
  later: Later[];
  /** Others kept working on them: the command has to be run again. */
  left: number;
  read_units: number;
}

export function newForget(now: Date): ForgetState {
  return {
    started_at: now.toISOString(),
    phase: 'rows',
    cursors: Array<null>(SEGMENTS).fill(null),
    notifications: {},
    scanned: 0,
    records: 0,
    named: 0,
    fallbacks: 0,
    contents_without_row: 0,
    members: 0,
    left: 0,
    read_units: 0,
    later: [],
  };
}
