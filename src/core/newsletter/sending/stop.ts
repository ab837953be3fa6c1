import type { Refusal } from '../model/provider.ts';

/** Why a sender does not go on with its batch for now. */
export type Stop =
  /** A pause; `everyone`: the provider gives no allowance, so other batches of the email would not fare better. */
  | { readonly kind: 'wait'; readonly until: string; readonly everyone: boolean }
  /** The invocation's time ends: another one goes on. */
  | { readonly kind: 'continue' }
  /** The email was paused, or the slot was given to another batch. */
  | { readonly kind: 'halt' }
  /** The batch fails: an operator has to mend something, or the provider refused too often. */
  | {
      readonly kind: 'fail';
      readonly refusal: Refusal;
      /** What happened, for people; absent: the provider refused the batch. */
      readonly what?: string;
    }
  /** An outcome could be queued only; storage is down. */
  | { readonly kind: 'storage' };
