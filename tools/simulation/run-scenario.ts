import { START } from './engine/virtual-time.ts';
import { schedule } from './pipeline/arrivals.ts';
import { startDispatcher } from './pipeline/dispatcher.ts';
import { connectLanes } from './pipeline/lanes.ts';
import { World } from './pipeline/world.ts';
import { type Held, heldIn } from './report/drain.ts';
import { figuresOf } from './report/figures.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { rowOf } from './twins/tables.ts';

const SAMPLE_MS = 10_000;
/** Longer than any notification may be retried. */
const HORIZON_MS = 30 * 3_600_000;

/** @param onProgress told now and then how many notifications have come to their end, and were handed over */
export async function runScenario(
  scenario: Scenario,
  seed: number,
  onProgress: (finished: number, handedOver: number) => void = () => {},
) {
  const world = new World(scenario, seed);
  connectLanes(world);
  const { time, observer, tables } = world;
  const horizon = START.getTime() + HORIZON_MS;
  const startOf = (seconds: number) => START.getTime() + seconds * 1000;
  let held: Held | undefined;
  if (scenario.drains) {
    const { from, per_second } = scenario.drains;
    time.at(startOf(from), () => {
      held = heldIn(world, per_second);
    });
  }
  const { redrives = [] } = scenario;
  let redrivesLeft = redrives.length;
  for (const at of redrives)
    time.at(startOf(at), async () => {
      await redrive(world);
      redrivesLeft -= 1;
    });
  for (const arrivals of scenario.arrivals) schedule(arrivals, world, seed);
  const isOver = () =>
    tables.size === scenario.notifications &&
    observer.finished === tables.size &&
    redrivesLeft === 0 &&
    world.queued === 0;
  let over = false;
  const sample = () => {
    observer.sample(time.now);
    onProgress(observer.finished, tables.size);
    over = isOver() || time.now >= horizon;
    time.at(time.now + SAMPLE_MS, sample);
  };
  time.at(START.getTime(), sample);
  startDispatcher(world);
  await time.runUntil(() => over);
  audit(world);
  return figuresOf(world, held);
}

/** SQS moves at most this many messages a second from a dead-letter queue to its source. */
const REDRIVE_PER_SECOND = 500;

async function redrive(world: World): Promise<void> {
  const move = async (queue: ReturnType<World['allQueues']>[number]) => {
    for (let left = queue.deadLetters.length; left > 0; left -= REDRIVE_PER_SECOND) {
      const most = Math.min(left, REDRIVE_PER_SECOND);
      world.redriving(queue.deadLetters.slice(0, most));
      queue.redrive(most);
      await world.time.pause(1_000);
    }
  };
  await Promise.all(world.allQueues().map(move));
}

function audit(world: World): void {
  const { auditor, tables } = world;
  const letters = new Map<number, number>();
  for (const { message } of world.allQueues().flatMap(({ deadLetters }) => deadLetters)) {
    const row = rowOf(message.log_id);
    letters.set(row, (letters.get(row) ?? 0) + 1);
  }
  for (let row = 0; row < tables.size; row++) {
    const stored = tables.row(row);
    auditor.finish(row, { row: { ...stored }, records: tables.recordsOf(stored), letters: letters.get(row) ?? 0 });
  }
}
