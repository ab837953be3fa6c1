import type { ShownState } from '../../../src/core/newsletter/model/batch.ts';
import type { EmailPhase, Waits } from '../../../src/core/newsletter/views/email-view.ts';
import { said, t } from '../../language/language.ts';
import type { Word } from '../../parts/badge.tsx';

const PHASES: Readonly<Record<EmailPhase, Word>> = {
  scheduled: { name: t('Scheduled'), tone: 'wait', meaning: t('It begins at its time.') },
  queued: { name: t('Queued'), tone: 'wait', meaning: t('It is about to begin.') },
  preparing: { name: t('Preparing'), tone: 'busy', meaning: t('Its recipients are being frozen.') },
  sending: { name: t('Sending'), tone: 'busy', meaning: t('It is going out.') },
  waiting: {
    name: t('Waiting'),
    tone: 'wait',
    meaning: t('For its delivery window, or for what the provider allows; it says so below.'),
  },
  paused: { name: t('Paused'), tone: 'wait', meaning: t('It is paused: an operator did it, or it holds by itself.') },
  submitted: { name: t('Submitted'), tone: 'good', meaning: t('Nothing is left to send.') },
  failed: { name: t('Failed'), tone: 'bad', meaning: t('Something was not sent; it can be retried.') },
  cancelling: { name: t('Cancelling'), tone: 'busy', meaning: t('Whoever was not sent to is being excluded.') },
  cancelled: { name: t('Cancelled'), tone: 'none', meaning: t('It was cancelled; nobody else gets it.') },
};

export const eventsIn = (events: readonly string[]): string => events.map(said).join(', ') || '–';

/** What an e-mail waits for, after “waits”. */
export const WAITS_FOR: Readonly<Record<Waits['for'], string>> = {
  retry: t('for a retry'),
  silence: t('for SES to answer again'),
  window: t('for its delivery window'),
  allowance: t('for what SES allows'),
  account: t('for SES to resume sending'),
  sender: t('for its sender to be verified'),
  settings: t('for a setting or a right'),
  refused: t('for SES to accept anybody'),
};

export const phaseWord = (phase: EmailPhase) => PHASES[phase];

/** States of recipients in the order of the bar, with the tone of each. */
export const RECIPIENT_WORDS: Readonly<Record<ShownState, Word>> = {
  submitted: { name: t('Submitted'), tone: 'good' },
  pending: { name: t('Pending'), tone: 'busy' },
  excluded: { name: t('Excluded'), tone: 'none' },
  failed: { name: t('Failed'), tone: 'bad' },
  uncertain: { name: t('Uncertain'), tone: 'wait' },
};

export const RECIPIENT_ORDER = Object.keys(RECIPIENT_WORDS) as ShownState[];

/** Why somebody does not get an e-mail, and what a person does about it. */
const REASONS: Readonly<Record<string, string>> = {
  suppressed: t('The address bounced, complained, or was suppressed; an operator can lift a suppression.'),
  repeated_address: t('Another member with the address gets it: nothing to do.'),
  malformed_address: t('Correct the member’s address; the next e-mail reaches it.'),
  unreadable_address: t('Its key is gone, or it was altered: give the member’s address again.'),
  cancelled: t('The e-mail was cancelled before their turn: nothing to do.'),
  unsubscribed: t('The member left while it was sent: nothing to do.'),
  removed: t('The subscription was taken away before their turn: nothing to do.'),
  moved: t('The member has another address since, and gets the next e-mail there: nothing to do.'),
  deleted: t('The member was deleted before their turn: nothing to do.'),
  erased: t('The person was erased before their turn: nothing to do.'),
  message_rejected: t('SES refused this one: look at the member’s address and values.'),
};

export function reasonWord(what: string, reason: string): string {
  return (
    REASONS[reason] ??
    (what === 'failed' ? t('SES refused it for good: look at what its code says, and at the member.') : '')
  );
}
