/** What a benchmark measured, beside what design §9 allows. */
export interface Measurement {
  /** Stable name for machines: `write_units.success.1kb`. */
  readonly id: string;
  /** The same for people. */
  readonly what: string;
  readonly figure: number;
  readonly unit: string;
  readonly budget: Budget;
  /** The same quantity for a plain reading of the specification, measured in the same run. */
  readonly plain?: number;
  /** What has to be known to read the figure. */
  readonly note?: string;
  readonly details?: Readonly<Record<string, number | string>>;
}

export interface Budget {
  readonly max: number;
  readonly min?: number;
}

/** A measurement and what follows from it. */
export interface Figure extends Measurement {
  readonly met: boolean;
  /** By how much it is missed, as a share of the limit that it passes: 0.5 is half as much again. */
  readonly missed_by?: number;
  /** How many times as much the plain reading needs; absent without one, or where nothing is needed. */
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

/** A figure that is no number was not measured, and so cannot have met anything. */
function excess(figure: number, { max, min }: Budget): number | undefined {
  if (!Number.isFinite(figure)) return Number.POSITIVE_INFINITY;
  if (figure > max) return (figure - max) / max;
  if (min !== undefined && figure < min) return (min - figure) / min;
  return undefined;
}
