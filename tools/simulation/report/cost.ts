import type { Simulation } from '../models/simulation.ts';

/** US dollars per million, in us-east-1 (docs/reference/costs.md). */
const PER_MILLION = {
  write_units: 0.625,
  read_units: 0.125,
  sqs_requests: 0.4,
  lambda_requests: 0.2,
  lambda_gb_seconds: 13.3334,
};
type Used = Readonly<Record<keyof typeof PER_MILLION, number>>;

export interface Cost extends Used {
  readonly usd: number;
  readonly usd_per_million_notifications: number;
}

/** What the simulated calls cost; the API, logs and the provider are not part of it. */
export function costOf(
  world: Simulation,
  units: { readonly write: number; readonly read: number },
  sent: number,
): Cost {
  const { sources } = world;
  const used: Used = {
    write_units: units.write,
    read_units: Math.ceil(units.read),
    // Lambda's pollers receive, and delete what the function has handled.
    sqs_requests: world.allQueues().reduce((sum, { requests }) => sum + requests, 0),
    lambda_requests: sources.reduce((sum, { invocations }) => sum + invocations, 0),
    lambda_gb_seconds: Math.ceil(sources.reduce((sum, { gb_seconds }) => sum + gb_seconds, 0)),
  };
  const prices = Object.entries(PER_MILLION) as [keyof Used, number][];
  const usd = prices.reduce((sum, [name, price]) => sum + (used[name] * price) / 1e6, 0);
  return { ...used, usd, usd_per_million_notifications: (usd / Math.max(1, sent)) * 1e6 };
}
