/** The tests that hold a line of the newsletter job's specification: file, and titles or parts of titles. */
export type HeldBy = Readonly<Record<string, readonly string[]>>;

/** By the line, as docs/newsletters.md names it. */
export const NEWSLETTER_LINES: Readonly<Record<string, HeldBy>> = {
  '1. lock, `updateStatusLock`, FOR UPDATE, 排他制御': {
    'test/core/newsletter/lifecycle/advance.test.ts': [
      'is taken by one of many starts',
      'is taken although the count is written at the same moment',
      'is taken over when its holder died in the preparation',
    ],
  },
  '2. members by newsletter and segment': {
    'test/core/newsletter/audience/candidates.test.ts': ['are the subscribed members that match'],
    'test/realtime/newsletter-killed.test.ts': ['members in three segments get one mail each'],
  },
  '3. batches of 1,000, `createBatches`; トランザクション: per batch, nothing of a batch that failed': {
    'test/core/newsletter/preparation/prepare.test.ts': [
      'freezes the recipients in batches and chunks',
      'leaves nothing of a batch whose recipients were not stored',
      'freezes every member once, whatever the pages',
    ],
  },
  'existing batches are used again (`getBatches`)': {
    'test/core/newsletter/lifecycle/operate.test.ts': [
      'retries the failed batches of a failed email, and nothing else',
    ],
    'test/core/newsletter/lifecycle/advance.test.ts': ['its batches are used again'],
  },
  '4. two batches at once (最大並列度 2)': {
    'test/core/newsletter/lifecycle/advance.test.ts': [
      'are two, and each end of a batch gives its slot to the next one',
    ],
    'test/core/newsletter/sending/send-batch.test.ts': ['gives an email two slots'],
  },
  '5. `sendBatch`: results of each batch, `provider_id`, `error_status_code`, `error_message`, `error_data`': {
    'test/core/newsletter/sending/send-batch.test.ts': [
      'is sent chunk by chunk, then its slot goes to the next batch',
      'fails where the provider refused too often',
    ],
  },
  '6. `submitted`, `submitted_at`': {
    'test/core/newsletter/lifecycle/advance.test.ts': [
      'are two, and each end of a batch gives its slot to the next one',
      'is submitted when the rest was sent by a retry, without the error',
    ],
    'test/flow/newsletter.test.ts': ['reaches each member once'],
  },
  '部分失敗: `failed`, `error`, "partially sent"': {
    'test/core/newsletter/lifecycle/advance.test.ts': ['is failed when batches failed: partially sent'],
  },
  'trigger: published': {
    'test/functions/shared/api/email-routes.test.ts': ['once for a key, and its count and its job are started'],
  },
  'trigger: 予約公開, at its time': {
    'test/incidents/newsletter-faults.test.ts': [
      'is started at its time by its schedule',
      'is started by the clock where there is no schedule',
    ],
  },
  'skipped when submitting or submitted': {
    'test/cli/commands/emails/emails.test.ts': ['starts what is pending or failed, and skips the rest with a reason'],
    'test/core/newsletter/lifecycle/advance.test.ts': ['is never taken of an email that is'],
  },
  "preconditions: newsletter, members, provider's settings": {
    'test/incidents/newsletter-faults.test.ts': [
      'an unknown newsletter',
      'a segment that nobody matches',
      'a sender that SES has not verified',
    ],
  },
  'parameter `emailId`': {
    'test/batch/sending-job/sending-job-options.test.ts': [
      'are the id of an e-mail, and switches',
      'are refused for %s, above all else',
    ],
    'test/batch/batch-sending-service-job.test.ts': ['refuses a wrong argument with exit code 2'],
  },
  'inputs emails, newsletters, posts, members': {
    'test/contract/newsletter-job-suite.ts': ['keeps an email and its content'],
    'test/core/newsletter/audience/candidates.test.ts': ['the candidates of an email'],
  },
  'table emails and its columns': {
    'test/contract/newsletter-job-suite.ts': [
      'makes a change once per version, and answers its repetition like the first time',
    ],
    'test/core/newsletter/source-columns.test.ts': ['emails: status, email_count, error, submitted_at'],
  },
  'table email_batches and its columns': {
    'test/contract/newsletter-job-suite.ts': ['is overwritten by a repeated preparation, and changed once per version'],
    'test/functions/shared/api/email-routes.test.ts': ['lists its batches page by page'],
    'test/core/newsletter/source-columns.test.ts': [
      'email_batches: what the preparation inserts, and what the sending updates',
    ],
  },
  'table email_recipients and its columns': {
    'test/contract/newsletter-job-suite.ts': ['keeps recipients and states'],
    'test/functions/shared/api/email-routes.test.ts': ['lists its recipients by state'],
    'test/core/newsletter/source-columns.test.ts': ['email_recipients: what the preparation inserts'],
  },
  '`processed_at`': {
    'test/core/newsletter/accounting/chunk-changes.test.ts': ['is that of its own call, also while it waits'],
    'test/core/newsletter/source-columns.test.ts': ['processed_at after an attempt'],
  },
  '`email_count` corrected, alert at 1 %': {
    'test/core/newsletter/preparation/prepare.test.ts': ['reports a count that is off by one percent or more'],
    'test/lib/constructs/monitoring/alarms.test.ts': [
      'newsletter-count-off',
      'rings at the first',
      'has a section for each alarm, and no other',
    ],
  },
  'Mailgun API': {
    'test/adapters/ses-v2/bulk-provider.test.ts': ['gives each entry its values, its unsubscribe headers and its tags'],
  },
  BULK_EMAIL_SEND_FAILED: {
    'test/core/newsletter/sending/send-batch.test.ts': ['fails where the provider refused too often'],
  },
  'retries of storage before sending: 10, 10 min, 2 s doubling ([calls to SES and their outcomes](decisions/newsletters/calls-and-outcomes.md#0184)); `[BULK_EMAIL_DB_RETRY]`':
    {
      'test/core/newsletter/storage/retry-storage.test.ts': [
        'is repeated after 2 s, doubling, with a log line each',
        'is tried until the end of its time',
        'has the numbers of the source',
      ],
    },
  'retries of storage after sending: 20, 30 min': {
    'test/core/newsletter/storage/retry-storage.test.ts': [
      'is tried until the end of its time',
      'has the numbers of the source',
    ],
    'test/core/newsletter/sending/send-batch.test.ts': [
      'queues an outcome that storage does not take, which is recorded later',
    ],
    'test/faults/newsletter-histories.test.ts': ['ends with every recipient in exactly one state'],
  },
  'retries of the provider (6 from 10 s; 503: 30)': {
    'test/core/newsletter/sending/judge-answer.test.ts': [
      'is tried again after 10 s, doubling',
      'fails the batch after 6 repetitions, after 30 for an overloaded provider',
    ],
    'test/faults/newsletter-recovery.test.ts': [
      'makes the email fail after the tries of each recipient, and a retry sends all of them',
      'leaves few uncertain',
    ],
  },
  'all of these numbers, as configuration ([calls to SES and their outcomes](decisions/newsletters/calls-and-outcomes.md#0186))':
    {
      'test/core/newsletter/model/job-retries.test.ts': [
        'the retries of the source are those that the job has by default',
      ],
      'test/lib/constructs/newsletter/job-retries.test.ts': [
        'the job retries as the source says, in each of its functions',
        'a stage changes them',
      ],
    },
  'only failed batches are sent again': {
    'test/core/newsletter/lifecycle/operate.test.ts': [
      'retries the failed batches of a failed email, and nothing else',
    ],
    'test/core/newsletter/lifecycle/advance.test.ts': [
      'is submitted when the rest was sent by a retry, without the error',
    ],
  },
  'batches of at most 1,000': {
    'test/core/newsletter/preparation/prepare.test.ts': [
      'takes 1,000 recipients per batch and 50 per chunk by default',
    ],
  },
  'log lines "Starting email job …", "Creating batches …"': {
    'test/core/newsletter/preparation/prepare.test.ts': ['freezes the recipients in batches and chunks'],
    'test/core/newsletter/lifecycle/advance.test.ts': ['is never taken of an email that is'],
  },
  'log line "Sending batch …", error log with its context': {
    'test/core/newsletter/sending/send-batch.test.ts': [
      'is sent chunk by chunk, then its slot goes to the next batch',
      'fails where the provider refused too often',
    ],
  },
  'alert on a failed send (Sentry)': {
    'test/core/newsletter/lifecycle/advance.test.ts': ['is failed when batches failed: partially sent'],
    'test/lib/constructs/monitoring/alarms.test.ts': [
      'newsletter-failed',
      'rings at the first',
      'has a section for each alarm, and no other',
    ],
  },
  'domain warming': {
    'test/core/newsletter/warming/domain-warming.test.ts': [
      'grows from 200 to 200,000 over 42 days, then ends',
      'grows with each day, but for a day with many complaints or bounces',
    ],
    'test/core/newsletter/events/reported-domains.test.ts': ['count for its day, each once'],
  },
  segments: {
    'test/adapters/nql/parse-segment.test.ts': [
      '%s matches: %s',
      'counts relative times from the given time, not from now',
    ],
    'test/incidents/newsletter-faults.test.ts': ['a segment with an unknown field'],
  },
  '`deliveryTime`': {
    'test/core/newsletter/lifecycle/advance.test.ts': [
      'spreads the batches over it, and what is left of them over what is left of it',
      'does not hold up batches after its end',
    ],
  },
  EmailBodyCache: {
    'test/adapters/post/post-renderer.test.ts': [
      'are rendered once per email and combination',
      'are shown by the bits of the rendering',
    ],
  },
  'email-analytics-fetch-latest': {
    'test/functions/newsletter-events.test.ts': ['suppresses an address that bounced for good'],
    'test/faults/newsletter-events.test.ts': ['end in what they say'],
  },
};
