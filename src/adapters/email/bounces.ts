import type { ProviderErrorType } from '../../core/model/error-types.ts';

/** A bounce as SES reports it, without the diagnostic text, which often quotes the recipient. */
export interface Bounce {
  /** `Permanent`, `Transient` or `Undetermined`. */
  readonly type: string;
  readonly sub_type: string;
  /** Enhanced status code (RFC 3463), if the receiving server gave one. */
  readonly status?: string;
}

interface BounceRule {
  readonly type: string;
  readonly sub_type?: readonly string[];
  readonly means: ProviderErrorType;
  readonly because: string;
}

/** The first rule that fits decides. A bounce without a rule is UNKNOWN, and so the notification is retried. */
export const BOUNCE_RULES: readonly BounceRule[] = [
  {
    type: 'Permanent',
    means: 'INVALID_RECIPIENT',
    because: 'The address does not exist, or its server refuses all e-mail for it: SES calls it a hard bounce.',
  },
  {
    type: 'Transient',
    sub_type: ['MessageTooLarge', 'ContentRejected', 'AttachmentRejected'],
    means: 'FORMAT_ERROR',
    because: 'Transient means that the address is good, but the same message would bounce again.',
  },
  {
    type: 'Transient',
    sub_type: ['MailboxFull'],
    means: 'SERVER_OVERLOAD',
    because: 'The recipient has to make room first, which takes longer than a disturbance.',
  },
];

/** SES accepts an e-mail to an address on its suppression lists, does not send it, and reports a bounce. */
const SUPPRESSED = ['Suppressed', 'OnAccountSuppressionList', 'UnsubscribedRecipient'];

export function errorOfBounce({ type, sub_type }: Bounce): ProviderErrorType {
  const rule = BOUNCE_RULES.find((one) => one.type === type && (one.sub_type?.includes(sub_type) ?? true));
  return rule?.means ?? 'UNKNOWN';
}

export function isSuppressed({ sub_type }: Bounce): boolean {
  return SUPPRESSED.includes(sub_type);
}

export function describeBounce({ type, sub_type, status }: Bounce): string {
  const why = isSuppressed({ type, sub_type }) ? 'SES has the recipient on a suppression list' : 'the mail bounced';
  return `${why}: ${type}, ${sub_type}${status === undefined ? '' : `, ${status}`}`;
}
