/** A binary heap of numbers, smallest first. */
export class NumberHeap {
  #items = new Float64Array(1_024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  peek(): number | undefined {
    return this.#size === 0 ? undefined : this.#items[0];
  }

  push(value: number): void {
    if (this.#size === this.#items.length) this.#grow();
    const items = this.#items;
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent] ?? 0;
      if (above <= value) break;
      items[at] = above;
      at = parent;
    }
    items[at] = value;
  }

  pop(): number | undefined {
    if (this.#size === 0) return undefined;
    const items = this.#items;
    const smallest = items[0];
    const last = items[--this.#size] ?? 0;
    let at = 0;
    for (let child = 1; child < this.#size; child = 2 * at + 1) {
      if (child + 1 < this.#size && (items[child + 1] ?? 0) < (items[child] ?? 0)) child += 1;
      const below = items[child] ?? 0;
      if (below >= last) break;
      items[at] = below;
      at = child;
    }
    items[at] = last;
    return smallest;
  }

  #grow(): void {
    const larger = new Float64Array(this.#items.length * 2);
    larger.set(this.#items);
    this.#items = larger;
  }
}
