import { expect, it } from 'vitest';
import { drawHistory, shrink } from '../../tools/simulation/histories/random-history.ts';
import { SEED } from '../support/seed.ts';

const RUNS = Math.ceil(Number(process.env['FAULT_RUNS'] ?? 500) / 5);

/** What the stories have to tell of, or they say little. */
const TOLD = [
  /^the log is lost$/,
  /^the content is lost$/,
  /^the records are lost$/,
  /^a part of the log is lost$/,
  /^the restoration .* dies/,
  /^the restoration .*: refused$/,
  /^late: the restoration /,
  /^an operator cancels/,
  /'s writer puts it anew$/,
  /'s writer corrects its recipient$/,
  /^an operator erases/,
  /^an operator begins a bulk cancel$/,
  /^a producer hands over/,
  /calls successors.put$/,
];

it(
  'a log, or its content, that is lost and restored doubles, loses and revives nothing, whatever happened since, and wherever the restoration dies',
  async () => {
    const untold = new Set(TOLD);
    for (let seed = SEED; seed < SEED + RUNS; seed++) {
      const history = await drawHistory(seed, [], { restored: true });
      if (history.violations.length > 0)
        expect.fail(
          [`FAULT_SEED=${seed} FAULT_RUNS=1: ${history.violations.join('; ')}`, ...(await shrink(history))].join(
            '\n  ',
          ),
        );
      if (!history.story.some((line) => line.endsWith('is lost'))) continue;
      for (const pattern of untold) if (history.story.some((line) => pattern.test(line))) untold.delete(pattern);
    }
    if (RUNS >= 100) expect([...untold].map(String)).toEqual([]);
  },
  Math.max(120_000, RUNS * 500),
);
