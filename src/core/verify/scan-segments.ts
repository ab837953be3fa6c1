import type { PageCursor } from '../model/work-index.ts';
import { type Pace, type Page, SEGMENTS, type Verification } from './verification.ts';

type Scanned = Pick<Verification, 'cursors' | 'scanned' | 'read_units'>;

interface Scan<S extends Scanned> {
  readonly state: S;
  readonly pace: Pace;
  readonly run: { readonly isStopping: () => boolean; readonly onProgress?: (state: S) => void };
}

/** Reads a table in segments, from where the state is. @param take returns units that it has spent itself, if any */
export async function scanSegments<T, S extends Scanned>(
  { state, pace, run }: Scan<S>,
  pages: (segment: number, after: PageCursor | null) => Promise<Page<T>>,
  take: (items: readonly T[]) => Promise<unknown>,
): Promise<void> {
  const segment = async (i: number) => {
    for (let after = state.cursors[i] ?? null; after !== 'end' && !run.isStopping(); ) {
      const { items, read_units, next } = await pages(i, after);
      const units = Number((await take(items)) ?? 0);
      after = next ?? 'end';
      state.cursors[i] = after;
      state.scanned += items.length;
      run.onProgress?.(state);
      await pace.spend(state, { read_units: read_units + units });
    }
  };
  await Promise.all(Array.from({ length: SEGMENTS }, (_, i) => segment(i)));
}
