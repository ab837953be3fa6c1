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
