/** The sends of a worker that have no answer yet: while there are some, outcomes wait for theirs (gather.ts). */
export class SendsUnderWay {
  #count = 0;
  #end: PromiseWithResolvers<void> | undefined;

  get any(): boolean {
    return this.#count > 0;
  }

  /** Resolves when no send is under way any more. */
  ended(): Promise<void> {
    if (!this.any) return Promise.resolve();
    this.#end ??= Promise.withResolvers();
    return this.#end.promise;
  }

  async during<T>(send: () => Promise<T>): Promise<T> {
    this.#count += 1;
    try {
      return await send();
    } finally {
      this.#count -= 1;
      if (!this.any) this.#end?.resolve();
      if (!this.any) this.#end = undefined;
    }
  }
}
