/** A measured quantity and its budget in docs/architecture.md. */
export interface Measurement {
  /** Stable name for programs: `write_units.success.1kb`. */
  readonly id: string;
  /** Name for people. */
  readonly what: string;
  readonly figure: number;
  readonly unit: string;
  readonly budget: { readonly max: number; readonly min?: number };
  /** The same quantity for a plain reading of the specification, measured in the same run. */
  readonly plain?: number;
  /** Conditions of the measurement. */
  readonly note?: string;
  readonly details?: Readonly<Record<string, number | string>>;
}

/** A measurement and its result. */
export interface Figure extends Measurement {
  readonly met: boolean;
  /** Distance from the missed limit, as a share of the limit: 0.5 is 50 % beyond it. */
  readonly missed_by?: number;
  /** The plain reading's quantity divided by ours; absent without a plain reading, or when ours is 0. */
  readonly ratio?: number;
}

export function judge(measurement: Measurement): Figure {
  const { figure, budget, plain } = measurement;
  const missed = excess(figure, budget);
  return {
    ...measurement,
    met: missed === undefined,
    ...(missed !== undefined && { missed_by: missed }),
    ...(plain !== undefined && figure > 0 && { ratio: plain / figure }),
  };
}

/** A figure that is not a number was not measured, so it does not meet its budget. */
function excess(figure: number, { max, min }: Measurement['budget']): number | undefined {
  if (!Number.isFinite(figure)) return Number.POSITIVE_INFINITY;
  if (figure > max) return (figure - max) / max;
  if (min !== undefined && figure < min) return (min - figure) / min;
  return undefined;
}

/** The median: one disturbed sample among many does not change it. @throws RangeError without values */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) throw new RangeError('The median of no values was asked for.');
  return (lower + upper) / 2;
}

/**
 * Microseconds of CPU for a single GetItem on the machine where the CPU budgets were set
 * (docs/decisions/measured/cpu-and-rate.md).
 */
const REFERENCE_CALL_US = 470;

export const REFERENCE_NOTE = `scaled to a machine where a single GetItem takes ${REFERENCE_CALL_US} µs of CPU, as the budget was set on one; measured here`;

/**
 * Converts CPU times of this machine to the reference machine's.
 * @param call_us of a single GetItem, measured in the same run
 */
export function toReference(call_us: number): (cpu: number) => number {
  return (cpu) => (cpu * REFERENCE_CALL_US) / call_us;
}
