import type { World } from '../pipeline/world.ts';

/** US dollars per million, in us-east-1 (docs/reference/costs.md). */
const PER_MILLION = {
  write_units: 0.625,
  read_units: 0.125,
  sqs_requests: 0.4,
  lambda_requests: 0.2,
  lambda_gb_seconds: 13.3334,
};
const FUNCTION_GB = 0.25;

type Used = Readonly<Record<keyof typeof PER_MILLION, number>>;

export interface Cost extends Used {
  readonly usd: number;
  readonly usd_per_million_notifications: number;
}

/** What the simulated calls cost; the API, logs and the provider are not part of it. */
export function costOf(world: World): Cost {
  const { tables, sources } = world;
  const used: Used = {
    write_units: tables.writeUnits + tables.state.units,
    read_units: Math.ceil(tables.readUnits + tables.index.readUnits),
    // Lambda's pollers receive, and delete what the function has handled.
    sqs_requests: world.allQueues().reduce((sum, { requests }) => sum + requests, 0),
    lambda_requests: sources.reduce((sum, { invocations }) => sum + invocations, 0),
    lambda_gb_seconds: Math.ceil(sources.reduce((sum, { busy_ms }) => sum + busy_ms, 0) * (FUNCTION_GB / 1000)),
  };
  return priceOf(used, tables.size);
}

export function priceOf(used: Used, notifications: number): Cost {
  const usd = Object.entries(PER_MILLION).reduce(
    (sum, [name, price]) => sum + (used[name as keyof typeof used] * price) / 1e6,
    0,
  );
  return { ...used, usd, usd_per_million_notifications: (usd / Math.max(1, notifications)) * 1e6 };
}
