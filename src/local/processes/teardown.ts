/** Steps that undo a start, in reverse order. A step that fails does not keep the others from running. */
export class Teardown {
  readonly #steps: { readonly name: string; readonly run: () => Promise<void> }[] = [];
  #running: Promise<void> | undefined;

  add(name: string, run: () => Promise<void>): void {
    this.#steps.push({ name, run });
  }

  /** A second call returns the first one's result. @throws AggregateError of failed steps, after all have run */
  run(): Promise<void> {
    this.#running ??= this.#runAll();
    return this.#running;
  }

  async #runAll(): Promise<void> {
    const failures: Error[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.run();
      } catch (cause) {
        failures.push(new Error(`${step.name} could not be stopped`, { cause }));
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map((failure) => failure.message).join('; '));
  }
}
