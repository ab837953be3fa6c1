/** A publication with a sender, and members who subscribe to it. Key: tenant_id + newsletter_id. */
export interface Newsletter {
  readonly tenant_id: string;
  /** 1 to 50 of A-Z, a-z, 0-9, _ and -, chosen by the tenant. */
  readonly newsletter_id: string;
  readonly name: string;
  /** The From address, `Name <local@domain>` or plain. SES must have verified it or its domain. */
  readonly from: string;
  readonly reply_to?: string;
  /** Domain that replaces the one of `from` while warming allows it; absent: the domain of `from`. */
  readonly sending_domain?: string;
  /** Domain for the recipients beyond the warming allowance of the sending domain; absent: there is no warming. */
  readonly fallback_domain?: string;
  /** What is tracked of its mails; absent: both. */
  readonly track?: Tracking;
  /** The person or company that sends it, where that may be visited or written to, and how it is asked. */
  readonly sender_name?: string;
  readonly postal_address?: string;
  /** An address, a telephone number or a URL. */
  readonly contact?: string;
  /** Of its mails and of what stands below them; absent: English. */
  readonly language?: MailLanguage;
  /** How its mails in Markdown and text look: `#rrggbb`, and the https URL of a picture. */
  readonly accent_color?: string;
  readonly logo_url?: string;
  /** ISO-8601 UTC with milliseconds, like all times. */
  readonly created_at: string;
  readonly updated_at: string;
}

/** Whether the provider puts a pixel into mails, and leads their links by way of its own. */
export interface Tracking {
  readonly opens: boolean;
  readonly clicks: boolean;
}

/** Languages of what is written below a mail and on the pages behind its links. */
export const MAIL_LANGUAGES = ['en', 'ja'] as const;
export type MailLanguage = (typeof MAIL_LANGUAGES)[number];

export const mailLanguageOf = ({ language = 'en' }: Pick<Newsletter, 'language'>): MailLanguage => language;

/** The page of a mail is that of its link to unsubscribe, and a step further. */
export const MAIL_PAGE = '/mail';

/**
 * What a mail says of its sender by law: the postal address by CAN-SPAM (15 USC 7704(a)(5)); name, address and contact by
 * 特定電子メール法 4条 and 施行規則 9条.
 */
export const IDENTIFICATION = ['sender_name', 'postal_address', 'contact'] as const satisfies (keyof Newsletter)[];

/** What the mails of a newsletter do not say, in a sentence; undefined where they say all. */
export function missingIdentification(newsletter: Pick<Newsletter, 'newsletter_id' | (typeof IDENTIFICATION)[number]>) {
  // Blanks, dashes and the like name nobody.
  const missing = IDENTIFICATION.filter((field) => !/[\p{L}\p{N}]/u.test(newsletter[field] ?? ''));
  if (missing.length === 0) return undefined;
  return (
    `The newsletter ${newsletter.newsletter_id} has no ${missing.join(', no ')}: a mail to its members has to say who ` +
    'sends it by law (CAN-SPAM, 15 USC 7704(a)(5); 特定電子メール法 4条).'
  );
}

export const EMAIL_STATUSES = ['pending', 'submitting', 'submitted', 'failed', 'cancelled'] as const;
export type EmailStatus = (typeof EMAIL_STATUSES)[number];

/** The source's code of every failed sending. */
export const BULK_EMAIL_SEND_FAILED = 'BULK_EMAIL_SEND_FAILED';

/** Batches of one email that are sent at once (最大並列度). */
export const EMAIL_CONCURRENCY = 2;

/** One sending of a post to a newsletter's members: a row of emails. */
export interface Email {
  readonly email_id: string;
  readonly tenant_id: string;
  readonly newsletter_id: string;
  /** The beginning of the subject, for lists; absent on rows from before it was kept. */
  readonly subject?: string;
  readonly status: EmailStatus;
  readonly paused: boolean;
  /** Each change needs the version that it was read with. */
  readonly version: number;
  /** NQL; absent: every subscribed member. */
  readonly segment?: string;
  readonly scheduled_at?: string;
  readonly delivery_window_minutes?: number;
  /** Whom the count pass would send to; corrected by the preparation to whom it did not exclude. Absent until counted. */
  readonly email_count?: number;
  /** When the count pass found email_count; absent: at the publication. */
  readonly counted_at?: string;
  /** Progress of the preparation while it runs; the next invocation goes on from it. */
  readonly preparation?: Preparation;
  /** Written when every batch is committed: from now on the recipients are fixed. */
  readonly prepared?: Prepared;
  /** The batches in progress, by slot: at most EMAIL_CONCURRENCY. A slot is freed or passed on by one change. */
  readonly slots: Readonly<Record<string, Slot>>;
  /** Number of the batch at which the search for the next one starts: a hint, earlier ones may wait again. */
  readonly next_batch?: number;
  /** The pace of the delivery window: no batch gets a slot before. Without a window it means nothing. */
  readonly next_batch_at?: string;
  /** Why no batch is sent for now; absent while nothing is in the way. */
  readonly hold?: Hold;
  readonly refusals?: Refusals;
  /** Mails sent after `from`, empty at first, and by `until` were refused as everybody's were, by events of the reason. */
  readonly refused_late?: Readonly<Record<'reason' | 'from' | 'until', string>>;
  /** When slots were given away lately, because a call hung. */
  readonly hung_at?: readonly string[];
  /** When an operator ended the sending: whoever is not sent to by then is excluded, batch by batch. */
  readonly cancelled_at?: string;
  /** The provider answers no call; absent while it does. */
  readonly silence?: Silence;
  /** Why the email paused itself; it does so once. */
  readonly held?: Held;
  /** Holder of the job while the email is prepared (updateStatusLock). */
  readonly claim_id?: string;
  readonly claim_until?: string;
  /** When the job was started; a refused preparation that is retried starts anew. Relative times of segments count from it. */
  readonly submitting_at?: string;
  readonly submitted_at?: string;
  /** End of the delivery window, counted from the start, or from the retry. */
  readonly delivery_deadline?: string;
  /** When it was replaced before its start. */
  readonly replaced_at?: string;
  /** Hash of the request that published it: tells a repeated request from another one with the same key. */
  readonly request_hash?: string;
  /** Recipients that had failed at the last end of the sending; absent: none. */
  readonly failed_recipients?: number;
  /** Recipients by state at the last end of the sending. */
  readonly ended_counts?: Readonly<Record<string, number>>;
  /** What went wrong, for people: a failed email always has one. */
  readonly error?: string;
  readonly error_code?: string;
  /** When something has to be done for the email at the latest; absent when nothing is. Key of the active index. */
  readonly next_at?: string;
  /** Partition of the active index; present with next_at. */
  readonly active?: string;
  readonly created_at: string;
  readonly updated_at: string;
  /** TTL, epoch seconds: two years after it was created or begun, is scheduled for, or went on. Its links end with it. */
  readonly expires_at: number;
}

/** What an operator, or AWS, has to mend. */
export const FAULT_HOLDS = ['account', 'sender', 'settings', 'refused'] as const;

/** A hold is a question: at `ask_at` one batch asks it again, and the first mail that is accepted ends it. */
export interface Hold {
  readonly for: 'rate' | 'quota' | (typeof FAULT_HOLDS)[number];
  readonly ask_at: string;
  /** How often it was asked in vain. */
  readonly asked: number;
  readonly since: string;
  /** When the budget expects to have room; absent where nobody can tell. */
  readonly until?: string;
  /** Events told of it, after calls that were accepted: another one ends it, and no answer of a call. */
  readonly late?: true;
  /** The provider's words, and its code. */
  readonly message?: string;
  readonly reason?: string;
}

/**
 * Recipients that were refused for good in batches which have nobody else left to send to. Whether each of them was
 * refused for itself, or everybody, is known with the next acceptance, or with enough of them.
 */
export interface Refusals {
  /** Counts the holds because everybody was refused: what was refused before the last one says nothing of a recipient. */
  readonly round: number;
  /** How many, by batch and reason; empty after an acceptance. */
  readonly batches: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** From the second call in a row without an answer on, the email holds, and one small call at a time probes. */
interface Silence {
  /** Calls of a sender without an answer, in a row. */
  readonly calls: number;
  /** Nobody calls before; present while the email holds. */
  readonly until?: string;
  /** Small calls without an answer since then. */
  readonly probes?: number;
}

/** Too many mails of an email bounced for good, or were complained about. */
export interface Held {
  readonly reason: 'bounced' | 'complained';
  readonly count: number;
  /** Mails that were sent until then. */
  readonly sent: number;
  /** The share that was passed. */
  readonly limit: number;
  readonly at: string;
}

/** Why an email paused itself, and what is right, for people. */
export function pausedItselfSentence({ reason, count, sent, limit }: Held): string {
  const percent = (share: number) => `${Number((100 * share).toFixed(1))} %`;
  const what = reason === 'bounced' ? 'bounced for good' : 'were complained about';
  return (
    `${count} of ${sent} mails ${what}: ${percent(count / sent)}, and ${percent(limit)} is the limit. ` +
    'Look where these members come from, then cancel the rest, or resume it: it does not hold again.'
  );
}

/** A place for a batch in progress. */
export interface Slot {
  readonly batch_id: string;
  /** When the message of the batch was sent last; it is sent again if nobody works on the batch. */
  readonly since: string;
  /** When it was sent first. */
  readonly given_at?: string;
}

export interface Preparation {
  /** Place in the ordered list of members up to which everything is committed. */
  readonly after?: string;
  /** Number of the next batch, and of the next chunk of excluded recipients. */
  readonly next_batch: number;
  readonly next_excluded_chunk: number;
  readonly excluded: number;
  /** All recipients, the excluded ones included. */
  readonly recipients: number;
  readonly excluded_by_reason: Readonly<Record<string, number>>;
  /** Mails that warming left the sending domain when the preparation began; absent: no limit. */
  readonly own_domain_allowed?: number;
  readonly own_domain_used: number;
  /** Recipients without a value, by merge field without a fallback. */
  readonly missing_fields: Readonly<Record<string, number>>;
}

/** What the preparation froze; more may be excluded when their chunk goes out. */
export interface Prepared extends Pick<Preparation, 'recipients' | 'excluded' | 'excluded_by_reason'> {
  readonly batches: number;
  readonly at: string;
}

export const FORMATS = ['html', 'markdown', 'text'] as const;
export type EmailFormat = (typeof FORMATS)[number];

/** The post, kept apart from the row, so that a change of the row costs the same whatever the body's size. */
export interface EmailContent {
  readonly subject: string;
  /** What lists of mails show behind the subject; absent: the beginning of the post. */
  readonly preheader?: string;
  /** At most 256 KB in UTF-8. */
  readonly body: string;
  readonly format: EmailFormat;
  /** The newsletter as it was when the email was published: later edits do not change an email on its way. */
  readonly newsletter: Newsletter;
}
