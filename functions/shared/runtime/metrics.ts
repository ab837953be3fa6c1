import { toStdout, type WriteLine } from './logger.ts';

type Dimensions = Readonly<Record<string, string>>;

interface MetricsOptions {
  readonly namespace?: string | undefined;
  readonly serviceName?: string | undefined;
  readonly defaultDimensions?: Dimensions;
  readonly write?: WriteLine | undefined;
}

interface Stored {
  readonly unit: string;
  readonly values: number[];
}

/** CloudWatch takes as many values of a metric from a line. */
const MOST_VALUES = 100;

/** Writes metrics in CloudWatch's embedded metric format. */
export class Metrics {
  readonly #namespace: string | undefined;
  readonly #write: WriteLine;
  #dimensions: Dimensions;
  #stored = new Map<string, Stored>();

  /** By default what the environment says, which may be that nothing is written. */
  constructor({ namespace, serviceName, defaultDimensions, write }: MetricsOptions = {}) {
    this.#namespace = namespace ?? process.env['POWERTOOLS_METRICS_NAMESPACE'];
    this.#dimensions = { service: serviceName ?? process.env['POWERTOOLS_SERVICE_NAME'] ?? '', ...defaultDimensions };
    this.#write = write ?? (process.env['POWERTOOLS_METRICS_DISABLED'] === 'true' ? () => undefined : toStdout);
  }

  setDefaultDimensions(dimensions: Dimensions): void {
    this.#dimensions = { ...this.#dimensions, ...dimensions };
  }

  /** Adds a value to what is published next. */
  addMetric(name: string, unit: string, value: number): void {
    const stored = this.#stored.get(name) ?? { unit, values: [] };
    this.#stored.set(name, stored);
    stored.values.push(value);
    if (stored.values.length === MOST_VALUES) this.publishStoredMetrics();
  }

  /** Writes a metric with more dimensions at once. */
  publish(name: string, unit: string, value: number, dimensions: Dimensions): void {
    this.#print({ ...this.#dimensions, ...dimensions }, new Map([[name, { unit, values: [value] }]]));
  }

  hasStoredMetrics(): boolean {
    return this.#stored.size > 0;
  }

  publishStoredMetrics(): void {
    const stored = this.#stored;
    this.#stored = new Map();
    this.#print(this.#dimensions, stored);
  }

  #print(dimensions: Dimensions, stored: ReadonlyMap<string, Stored>): void {
    const Metrics = [...stored].map(([Name, { unit }]) => ({ Name, Unit: unit }));
    const CloudWatchMetrics = [{ Namespace: this.#namespace, Dimensions: [Object.keys(dimensions)], Metrics }];
    const values = [...stored].map(([name, { values }]) => [name, values.length === 1 ? values[0] : values]);
    const line = { _aws: { Timestamp: Date.now(), CloudWatchMetrics }, ...dimensions, ...Object.fromEntries(values) };
    this.#write(JSON.stringify(line));
  }
}
