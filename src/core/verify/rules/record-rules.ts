import { evidenceOf, type Fault, fault, isAbsent, isBeingTold, type Stored } from './row-rules.ts';

/**
 * What a row's records lack.
 * @param first attempt that needs one; undefined: the first that has one
 * @param now epoch milliseconds; absent when no event is to come
 */
export function recordFaults(
  row: Stored,
  records: readonly Stored[],
  first: number | undefined,
  now = Number.POSITIVE_INFINITY,
): Fault[] {
  const numbers = records.map(({ retry_attempt }) => Number(retry_attempt));
  const newest = Number(row['last_attempt'] ?? -1);
  // The newest may not be over, or its record is owed; one that was never claimed here is its writer's.
  const isOpen = row['send_status'] === 'SENDING' || !isAbsent(row['record_due']);
  const last = isOpen ? newest - 1 : newest;
  const isOurs = !isAbsent(row['claim_id']) && !isOpen;
  // Before this life, a worker may have made an attempt and died, whose number nobody uses again.
  const life = Number(row['life'] ?? 0);
  const ofLife = numbers.filter((number) => number >= life);
  const known = first === undefined ? undefined : life + first;
  const from = known ?? (ofLife.length > 0 ? Math.min(...ofLife) : isOurs ? last : last + 1);
  const kept = new Set(numbers);
  const faults: Fault[] = [];
  for (let attempt = Math.max(from, life); attempt <= last; attempt += 1) {
    if (!kept.has(attempt)) faults.push(fault('6', `attempt ${attempt} has no record`));
  }
  if (isBeingTold(row, now)) return faults;
  const { retry_status } = records.find(({ retry_attempt }) => Number(retry_attempt) === newest) ?? {};
  const { send_status } = row;
  if (retry_status === 'SUCCESS' && send_status !== 'SUCCESS' && send_status !== 'SENDING')
    faults.push(fault('5', `recorded as delivered, and ${send_status}`));
  for (const [attempt, what] of evidenceOf(row)) {
    const status = records.find(({ retry_attempt }) => retry_attempt === Number(attempt))?.['retry_status'];
    const expected = what.endsWith('bounced') ? 'FAILED' : 'SUCCESS';
    if (status !== undefined && status !== expected)
      faults.push(fault('6', `attempt ${attempt} is ${status}, and was ${what}`));
  }
  return faults;
}
