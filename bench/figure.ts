/** A measured quantity and its budget in docs/architecture.md. */
export interface Measurement {
  /** Stable name for programs: `write_units.success.1kb`. */
  readonly id: string;
  /** Name for people. */
  readonly what: string;
  readonly figure: number;
  readonly unit: string;
  readonly budget: Budget;
  /** The same quantity for a plain reading of the specification, measured in the same run. */
  readonly plain?: number;
  /** Conditions of the measurement. */
  readonly note?: string;
  readonly details?: Readonly<Record<string, number | string>>;
}

export interface Budget {
  readonly max: number;
  readonly min?: number;
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
function excess(figure: number, { max, min }: Budget): number | undefined {
  if (!Number.isFinite(figure)) return Number.POSITIVE_INFINITY;
  if (figure > max) return (figure - max) / max;
  if (min !== undefined && figure < min) return (min - figure) / min;
  return undefined;
}
