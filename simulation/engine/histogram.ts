/** Each bin is wider than the one before by this factor: values are right to 2 %. */
const GROWTH = Math.log(1.02);
const SMALLEST = 1;

/** Counts of values above 0 in bins that grow, for percentiles without keeping the values. */
export class Histogram {
  #bins: number[] = [];
  count = 0;
  max = 0;

  add(value: number): void {
    const bin = value <= SMALLEST ? 0 : Math.ceil(Math.log(value / SMALLEST) / GROWTH);
    this.#bins[bin] = (this.#bins[bin] ?? 0) + 1;
    this.count += 1;
    if (value > this.max) this.max = value;
  }

  /** The value that the share of all values, 0…1, does not exceed; 0 without values. */
  percentile(share: number): number {
    let left = Math.ceil(share * this.count);
    for (let bin = 0; bin < this.#bins.length; bin++) {
      left -= this.#bins[bin] ?? 0;
      if (left <= 0 && this.count > 0) return Math.min(this.max, SMALLEST * Math.exp(bin * GROWTH));
    }
    return this.max;
  }
}
