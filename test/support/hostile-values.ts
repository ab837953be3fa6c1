import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** A value of each of DynamoDB's types, and the values of a type that programs trip over. */
export const HOSTILE_VALUES = {
  text: { S: 'x' },
  'a name that every object has': { S: 'constructor' },
  'empty text': { S: '' },
  'text with control characters': { S: 'a\u0000\u001b[31m\u202e' },
  'long text': { S: 'x'.repeat(1_000) },
  'text of almost 400 KB': { S: 'x'.repeat(396_000) },
  'the number 0': { N: '0' },
  'a negative number': { N: '-1' },
  'a fraction': { N: '1.5' },
  'a number beyond all integers': { N: '1e120' },
  'a number that no double holds': { N: '12345678901234567.25' },
  'a boolean': { BOOL: true },
  NULL: { NULL: true },
  binary: { B: new Uint8Array([0, 255]) },
  'a text set': { SS: ['a', 'b'] },
  'a number set': { NS: ['1', '12345678901234567.25'] },
  'a binary set': { BS: [new Uint8Array([1]), new Uint8Array([2])] },
  'a map': { M: { a: { NS: ['1'] }, B: { B: new Uint8Array([1]) } } },
  'a map that no text can be made of': { M: { toString: { S: 'x' }, valueOf: { S: 'x' }, toJSON: { S: 'x' } } },
  'a list': { L: [{ S: 'a' }, { SS: ['b'] }] },
} satisfies Record<string, AttributeValue>;

export type HostileValue = keyof typeof HOSTILE_VALUES;

const SHORT_TEXT = [
  'text',
  'a name that every object has',
  'empty text',
  'text with control characters',
  'NULL',
] as const;
const ANY_TEXT = [...SHORT_TEXT, 'long text', 'text of almost 400 KB'] as const;
const COUNT = ['the number 0', 'NULL'] as const;
const ABSENT = ['NULL'] as const;
const OWN_TEXT = SHORT_TEXT;
/** No rule: the pipeline overwrites the column, and never reads what another writer left in it. */
const ANYTHING = Object.keys(HOSTILE_VALUES) as HostileValue[];

/** The values of each column that break no rule, of the columns of the table document and of ours. */
export const HARMLESS: Readonly<Record<string, readonly HostileValue[]>> = {
  tenant_id: ['text', 'a name that every object has'],
  notification_id: SHORT_TEXT,
  setting_id: SHORT_TEXT,
  template_id: SHORT_TEXT,
  notification_type: [],
  recipient_type: ABSENT,
  recipient_address: ['text', 'a name that every object has', 'text with control characters'],
  subject: SHORT_TEXT,
  message_body: [
    'text',
    'a name that every object has',
    'text with control characters',
    'long text',
    'text of almost 400 KB',
  ],
  message_format: ABSENT,
  send_status: [],
  send_attempts: COUNT,
  max_retry_count: COUNT,
  scheduled_at: ABSENT,
  sent_at: ABSENT,
  delivered_at: ABSENT,
  opened_at: ABSENT,
  response_code: SHORT_TEXT,
  response_message: ANY_TEXT,
  error_details: ANY_TEXT,
  integration_config_id: SHORT_TEXT,
  created_at: ABSENT,
  updated_at: ABSENT,
  created_by: SHORT_TEXT,
  updated_by: SHORT_TEXT,
  is_deleted: ABSENT, // true: left to its writer
  priority_level: ABSENT,
  channel: ABSENT,
  priority: ABSENT,
  retry_count: COUNT,
  next_retry_at: ABSENT,
  first_attempt_at: ABSENT,
  error_type: OWN_TEXT,
  error_message: ANY_TEXT,
  failure_reason: ANY_TEXT,
  work_at: [
    'text',
    'a name that every object has',
    'text with control characters',
    'long text',
    'text of almost 400 KB',
  ],
  claim_until: OWN_TEXT,
  attempts_left: COUNT,
  last_attempt: ['the number 0', 'a negative number', 'NULL'],
  queued_for: OWN_TEXT,
  record_due: [...SHORT_TEXT, 'long text'],
  give_up: ABSENT,
  delivery_by_attempt: ABSENT,
  fallback_channel: ABSENT,
  fallback_recipient: ABSENT,
  dead_message_id: OWN_TEXT,
  redrive_count: COUNT,
  provider_host: OWN_TEXT,
  successor_log_id: OWN_TEXT,
  suppressed: ['a boolean', 'NULL'],
  expires_at: ANYTHING,
};
