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
 * Converts CPU times of this machine to the reference machine's, each by the GetItem of its own round: a machine is not
 * equally fast in all rounds (docs/decisions/measured/cpu-and-rate.md#0125).
 * @param calls_us of a single GetItem, one per round
 */
export function toReference(cpu: readonly number[], calls_us: readonly number[]): number[] {
  return cpu.map((used, round) => (used * REFERENCE_CALL_US) / (calls_us[round] ?? Number.NaN));
}

export interface Turns {
  /** Rounds before those that count: code is compiled meanwhile. */
  readonly warmUp?: number;
  readonly rounds: number;
  /** Is told which round begins: `round 2 of 9`. */
  readonly step: (round: string) => void;
}

/**
 * Measures candidates, which take turns, so that other work of the machine affects them alike.
 * @returns the samples of each candidate, in the order of the rounds
 */
export async function inTurns<N extends string, T>(
  candidates: Readonly<Record<N, (round: number) => Promise<T>>>,
  { warmUp = 0, rounds, step }: Turns,
): Promise<Record<N, T[]>> {
  const names = Object.keys(candidates) as N[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<N, T[]>;
  for (let round = 0; round < warmUp + rounds; round++) {
    step(`round ${round + 1} of ${warmUp + rounds}`);
    for (const name of names) {
      const sample = await candidates[name](round);
      if (round >= warmUp) samples[name].push(sample);
    }
  }
  return samples;
}
