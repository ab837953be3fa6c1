/** Where credentials and local keys come from, by name; both implementations give a secret as text. */
export interface SecretSource {
  /**
   * @param options.fresh reads past every cache.
   * @returns undefined when there is no such secret.
   * @throws SecretUnavailableError
   */
  get(name: string, options?: { readonly fresh?: boolean }): Promise<string | undefined>;
}

/** Why a secret could not be read: we may not, the file is wrong, or the source does not answer at present. */
export type SecretFault = 'denied' | 'malformed' | 'temporary';

/** Names the secret and the reason, never the value. */
export class SecretUnavailableError extends Error {
  override readonly name = 'SecretUnavailableError';
  readonly fault: SecretFault;

  constructor(fault: SecretFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}
