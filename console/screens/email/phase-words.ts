import type { ShownState } from '../../../src/core/newsletter/model/recipient-state.ts';
import type { EmailPhase, Waits } from '../../../src/core/newsletter/views/email-view.ts';
import type { Word } from '../../parts/badge.tsx';

const PHASES: Readonly<Record<EmailPhase, Word>> = {
  scheduled: { name: 'Scheduled', tone: 'wait', meaning: 'It begins at its time.' },
  queued: { name: 'Queued', tone: 'wait', meaning: 'It is about to begin.' },
  preparing: { name: 'Preparing', tone: 'busy', meaning: 'Its recipients are being frozen.' },
  sending: { name: 'Sending', tone: 'busy', meaning: 'It is going out.' },
  waiting: {
    name: 'Waiting',
    tone: 'wait',
    meaning: 'For its delivery window, or for what the provider allows; it says so below.',
  },
  paused: { name: 'Paused', tone: 'wait', meaning: 'It is paused: an operator did it, or it holds by itself.' },
  submitted: { name: 'Submitted', tone: 'good', meaning: 'Nothing is left to send.' },
  failed: { name: 'Failed', tone: 'bad', meaning: 'Something was not sent; it can be retried.' },
  cancelling: { name: 'Cancelling', tone: 'busy', meaning: 'Whoever was not sent to is being excluded.' },
  cancelled: { name: 'Cancelled', tone: 'none', meaning: 'It was cancelled; nobody else gets it.' },
};

/** What an e-mail waits for, after “waits”. */
export const WAITS_FOR: Readonly<Record<Waits['for'], string>> = {
  retry: 'for a retry',
  silence: 'for SES to answer again',
  window: 'for its delivery window',
  allowance: 'for what SES allows',
  account: 'for SES to resume sending',
  sender: 'for its sender to be verified',
  settings: 'for a setting or a right',
  refused: 'for SES to accept anybody',
};

export const phaseWord = (phase: EmailPhase) => PHASES[phase];

/** States of recipients in the order of the bar, with the tone of each. */
export const RECIPIENT_WORDS: Readonly<Record<ShownState, Word>> = {
  submitted: { name: 'Submitted', tone: 'good' },
  pending: { name: 'Pending', tone: 'busy' },
  excluded: { name: 'Excluded', tone: 'none' },
  failed: { name: 'Failed', tone: 'bad' },
  uncertain: { name: 'Uncertain', tone: 'wait' },
};

export const RECIPIENT_ORDER = Object.keys(RECIPIENT_WORDS) as ShownState[];

/** Why somebody does not get an e-mail, and what a person does about it. */
const REASONS: Readonly<Record<string, string>> = {
  suppressed: 'The address bounced, complained, or was suppressed; an operator can lift a suppression.',
  repeated_address: 'Another member with the address gets it: nothing to do.',
  malformed_address: 'Correct the member’s address; the next e-mail reaches it.',
  unreadable_address: 'Its key is gone, or it was altered: give the member’s address again.',
  cancelled: 'The e-mail was cancelled before their turn: nothing to do.',
  unsubscribed: 'The member left while it was sent: nothing to do.',
  removed: 'The subscription was taken away before their turn: nothing to do.',
  moved: 'The member has another address since, and gets the next e-mail there: nothing to do.',
  deleted: 'The member was deleted before their turn: nothing to do.',
  erased: 'The person was erased before their turn: nothing to do.',
  message_rejected: 'SES refused this one: look at the member’s address and values.',
};

export function reasonWord(what: string, reason: string): string {
  return (
    REASONS[reason] ??
    (what === 'failed' ? 'SES refused it for good: look at what its code says, and at the member.' : '')
  );
}
