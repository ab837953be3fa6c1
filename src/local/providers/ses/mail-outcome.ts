/**
 * What becomes of an e-mail that SES took, told by a word in its address like the rest (script.ts); most are the words of SES's
 * own mailbox simulator.
 *
 * | word | what happens |
 * |---|---|
 * | `bounce` | a hard bounce: there is no such recipient |
 * | `softbounce`, `softbounce-2` | a soft bounce the first time, or the first two times; then delivered |
 * | `suppressionlist` | a hard bounce by SES itself: the recipient is on its suppression list |
 * | `complaint` | delivered; then the recipient complains |
 * | `open` | delivered; then the recipient opens it |
 * | `reject` | SES finds a virus |
 * | `unanswered` | delivered, but the connection breaks before SES's answer arrives |
 * | anything else | delivered |
 */
export type Happening = 'delivery' | 'open' | 'complaint' | 'reject' | Bounce;

export interface Bounce {
  readonly type: 'Permanent' | 'Transient';
  readonly subType: string;
  readonly status: string;
  /** What the receiving server says of an address; servers like to repeat it. */
  readonly says: (address: string) => string;
}

const NO_SUCH_USER: Bounce = {
  type: 'Permanent',
  subType: 'General',
  status: '5.1.1',
  says: (address) => `smtp; 550 5.1.1 <${address}>: user unknown`,
};
const TRY_AGAIN_LATER: Bounce = {
  type: 'Transient',
  subType: 'General',
  status: '4.4.7',
  says: (address) => `smtp; 450 4.4.7 <${address}>: try again later`,
};
const ON_SUPPRESSION_LIST: Bounce = {
  type: 'Permanent',
  subType: 'OnAccountSuppressionList',
  status: '5.1.1',
  says: () => 'Amazon SES did not send the message to this address because it is on the suppression list',
};

const FATES: Readonly<Record<string, readonly Happening[]>> = {
  bounce: [NO_SUCH_USER],
  softbounce: [TRY_AGAIN_LATER],
  suppressionlist: [ON_SUPPRESSION_LIST],
  complaint: ['delivery', 'complaint'],
  open: ['delivery', 'open'],
  reject: ['reject'],
  unanswered: ['delivery'],
};

/** Whether a word tells what becomes of a mail, and so not what SES says to it. */
export function isFate(word: string): boolean {
  return Object.hasOwn(FATES, nameOf(word));
}

/** @param attempts of the same mail to the same address before this one */
export function fateOf(word: string, attempts: number): readonly Happening[] {
  const times = Number(/^softbounce-(\d+)/.exec(word)?.[1] ?? 1);
  if (nameOf(word) === 'softbounce' && attempts >= times) return ['delivery'];
  return FATES[nameOf(word)] ?? ['delivery'];
}

/** The connection breaks before the answer. */
export function isUnanswered(word: string): boolean {
  return nameOf(word) === 'unanswered';
}

function nameOf(word: string): string {
  return /^[a-z]+/.exec(word)?.[0] ?? '';
}
