/**
 * A word in the address decides what happens to an e-mail after SES has accepted it. Most of the words are those of
 * SES's own mailbox simulator.
 *
 * | word | outcome |
 * |---|---|
 * | `bounce` | a hard bounce: there is no such recipient |
 * | `softbounce`, `softbounce-2` | a soft bounce of the first attempt, or of the first two; then delivered |
 * | `ooto` | delivered; then an automatic reply (out of the office), which SES reports as a bounce |
 * | `suppressionlist` | a hard bounce from SES itself: the recipient is on its suppression list |
 * | `complaint` | delivered; then the recipient complains |
 * | `notspam` | delivered; then the recipient says that it is no spam, which SES reports as a complaint |
 * | `complaintlist` | a complaint from SES itself: the recipient complained before, so nothing was sent |
 * | `commentedbounce` | a hard bounce whose status has a comment, with a sub-type that SES has not documented |
 * | `open` | delivered; then the recipient opens it |
 * | `machineopen` | delivered; then a machine opens it |
 * | `click` | delivered; then the recipient opens it and follows a link |
 * | `reject` | SES finds a virus |
 * | `unanswered` | delivered, but the connection breaks before SES's answer arrives |
 * | any other word | delivered |
 */
export type MailEvent =
  | 'send'
  | 'rendering-failure'
  | 'delivery'
  | 'open'
  | 'machine-open'
  | 'click'
  | 'complaint'
  | 'not-spam'
  | 'suppressed-complaint'
  | 'reject'
  | Bounce;

export interface Bounce {
  readonly type: 'Permanent' | 'Transient' | 'Undetermined';
  readonly subType: string;
  /** Absent in a reply that is no report of a receiving server; then there is no diagnostic text either. */
  readonly status?: string;
  /** The receiving server's diagnostic text. Servers often repeat the address in it. */
  readonly diagnostic?: (address: string) => string;
}

const NO_SUCH_USER: Bounce = {
  type: 'Permanent',
  subType: 'General',
  status: '5.1.1',
  diagnostic: (address) => `smtp; 550 5.1.1 <${address}>: user unknown`,
};
const TRY_AGAIN_LATER: Bounce = {
  type: 'Transient',
  subType: 'General',
  status: '4.4.7',
  diagnostic: (address) => `smtp; 450 4.4.7 <${address}>: try again later`,
};
const ON_SUPPRESSION_LIST: Bounce = {
  type: 'Permanent',
  subType: 'OnAccountSuppressionList',
  status: '5.1.1',
  diagnostic: () => 'Amazon SES did not send the message to this address because it is on the suppression list',
};

const COMMENTED: Bounce = {
  type: 'Permanent',
  subType: 'Address/Retired',
  status: '5.1.1 (User does not exist)',
  diagnostic: (address) => `smtp; 550 5.1.1 <${address}>: user unknown`,
};

const OUT_OF_OFFICE: Bounce = { type: 'Transient', subType: 'General' };

const OUTCOMES: Readonly<Record<string, readonly MailEvent[]>> = {
  bounce: [NO_SUCH_USER],
  softbounce: [TRY_AGAIN_LATER],
  ooto: ['delivery', OUT_OF_OFFICE],
  suppressionlist: [ON_SUPPRESSION_LIST],
  complaint: ['delivery', 'complaint'],
  notspam: ['delivery', 'not-spam'],
  complaintlist: ['suppressed-complaint'],
  commentedbounce: [COMMENTED],
  machineopen: ['delivery', 'machine-open'],
  open: ['delivery', 'open'],
  click: ['delivery', 'open', 'click'],
  reject: ['reject'],
  unanswered: ['delivery'],
};

/** Whether a word decides the outcome after SES has accepted the mail, and not SES's answer. */
export const isOutcome = (word: string): boolean => Object.hasOwn(OUTCOMES, nameOf(word));

/** @param attempts earlier attempts of the same mail to the same address */
export function outcomeOf(word: string, attempts: number): readonly MailEvent[] {
  const times = Number(/^softbounce-(\d+)/.exec(word)?.[1] ?? 1);
  if (nameOf(word) === 'softbounce' && attempts >= times) return ['delivery'];
  return OUTCOMES[nameOf(word)] ?? ['delivery'];
}

/** The connection breaks before the answer. */
export const isUnanswered = (word: string): boolean => nameOf(word) === 'unanswered';

const nameOf = (word: string): string => /^[a-z]+/.exec(word)?.[0] ?? '';
