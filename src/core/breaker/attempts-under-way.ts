/** The attempts that this worker has under way, by provider. */
export class AttemptsUnderWay {
  readonly #attempts = new Map<string, Set<Promise<void>>>();

  /** @returns ends the attempt */
  begin(id: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const others = this.#attempts.get(id) ?? new Set();
    this.#attempts.set(id, others.add(promise));
    return () => {
      others.delete(promise);
      if (others.size === 0) this.#attempts.delete(id);
      resolve();
    };
  }

  /** Resolves when the provider's attempts that are under way now have ended; undefined when there are none. */
  ended(id: string): Promise<unknown> | undefined {
    const attempts = this.#attempts.get(id);
    return attempts && Promise.allSettled(attempts);
  }
}
