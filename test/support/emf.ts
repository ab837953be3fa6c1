import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { vi } from 'vitest';
import type { Observability } from '../../functions/shared/runtime/observability.ts';

/** A metric as CloudWatch would take it from a function's log. */
export interface Emitted {
  readonly name: string;
  readonly unit: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly values: readonly number[];
}

interface EmfLine {
  readonly _aws: {
    readonly CloudWatchMetrics: readonly {
      readonly Dimensions: readonly (readonly string[])[];
      readonly Metrics: readonly { readonly Name: string; readonly Unit: string }[];
    }[];
  };
  readonly [field: string]: unknown;
}

/** Runs a handler with metrics of the given service, and reads what it wrote in CloudWatch's embedded metric format. */
export async function emittedBy(
  service: string,
  defaults: Readonly<Record<string, string>>,
  run: (observability: Observability) => Promise<unknown>,
): Promise<Emitted[]> {
  // Metrics then go to the console that a test can listen to.
  vi.stubEnv('POWERTOOLS_DEV', 'true');
  vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'false');
  const lines: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => {
    lines.push(line);
  });
  try {
    const metrics = new Metrics({ namespace: 'test', serviceName: service, defaultDimensions: { ...defaults } });
    await run({ logger: new Logger({ logLevel: 'SILENT' }), metrics });
    if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
  } finally {
    log.mockRestore();
    vi.unstubAllEnvs();
  }
  return lines.flatMap((line) => parse(JSON.parse(line)));
}

function parse(line: EmfLine): Emitted[] {
  return line._aws.CloudWatchMetrics.flatMap(({ Dimensions, Metrics }) =>
    Dimensions.flatMap((names) =>
      Metrics.map(({ Name, Unit }) => ({
        name: Name,
        unit: Unit,
        dimensions: Object.fromEntries(names.map((name) => [name, String(line[name])])),
        values: [line[Name]].flat() as number[],
      })),
    ),
  );
}

/** What was emitted of a metric, all its values. */
export function valuesOf(
  emitted: readonly Emitted[],
  name: string,
  where: Readonly<Record<string, string>> = {},
): number[] {
  return emitted
    .filter((one) => one.name === name && Object.entries(where).every(([key, value]) => one.dimensions[key] === value))
    .flatMap(({ values }) => values);
}
