/** Gives credentials and local keys by name, as text. */
export interface SecretSource {
  /**
   * @param options.fresh reads past every cache
   * @returns undefined when there is no such secret
   * @throws SecretUnavailableError
   */
  get(name: string, options?: { readonly fresh?: boolean }): Promise<string | undefined>;
}

/** Why a secret could not be read: access is denied, the file is malformed, or the source does not answer now. */
export type SecretFault = 'denied' | 'malformed' | 'temporary';

/** A secret could not be read. The message names the secret and the reason, never the value. */
export class SecretUnavailableError extends Error {
  override readonly name = 'SecretUnavailableError';
  readonly fault: SecretFault;

  constructor(fault: SecretFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}
