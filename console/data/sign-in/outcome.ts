export type SignIn =
  | { readonly state: 'in' }
  /** The browser is on its way to the issuer. */
  | { readonly state: 'leaving' }
  | SignedOut;

export interface SignedOut {
  readonly state: 'out';
  readonly why: string;
  readonly remedy: string;
  /** Leaves for the issuer; absent where only a new link signs in. */
  readonly again?: () => void;
}
