import * as v from 'valibot';
import type { Channel } from '../../core/model/channels.ts';
import { Problem } from '../../core/model/problem.ts';
import { retryPolicyFromJson } from './settings-json.ts';

const CONFIGURE = 'docs/reference/configuration.md says how a stage gets it';

/** What a stage lacks when something of these is asked for. */
export const LACKS = {
  newsletters: `This stage has no newsletters: ${CONFIGURE}.`,
  api: `This stage has no API, and thus no keys: ${CONFIGURE}.`,
  channel: (channel: Channel | string) => `This stage has no channel ${channel}: ${CONFIGURE}.`,
  outcomes: `This stage tells no outcomes: ${CONFIGURE}.`,
  monitoring: `This stage has no metrics, as its monitoring is off: ${CONFIGURE}.`,
} as const;

/**
 * What a stage has of something, by name. To read what it does without refuses in one sentence, whichever command or
 * route needs it; what is not there is not listed either.
 * @throws Problem on reading a name that the stage does without
 */
export function ofStage<K extends string, T>(
  names: readonly K[],
  has: Readonly<Partial<Record<K, T | undefined>>>,
  lacks: (name: K) => string,
): Readonly<Record<K, T>> {
  const all = {} as Record<K, T>;
  for (const name of names) {
    const value = has[name];
    if (value !== undefined) all[name] = value;
    else {
      Object.defineProperty(all, name, {
        enumerable: false,
        get: () => {
          throw new Problem('not-found', lacks(name));
        },
      });
    }
  }
  return all;
}

/** The stack's outputs that name the tables, by the table's role. */
export const TABLE_OUTPUTS = {
  notification_log: 'NotificationLogTable',
  notification_content: 'NotificationContentTable',
  notification_retry_log: 'NotificationRetryLogTable',
  pipeline_state: 'PipelineStateTable',
  audit: 'AuditTable',
} as const;
export const PART_TABLE_OUTPUTS = {
  api_keys: 'ApiKeysTable',
  newsletters: 'NewslettersTable',
  members: 'MembersTable',
  emails: 'EmailsTable',
  email_batches: 'EmailBatchesTable',
  email_recipients: 'EmailRecipientsTable',
} as const;

type TableRole = keyof typeof TABLE_OUTPUTS | keyof typeof PART_TABLE_OUTPUTS;
export type TableNames = Readonly<Record<TableRole, string>>;

const OUTPUTS = Object.entries({ ...TABLE_OUTPUTS, ...PART_TABLE_OUTPUTS }) as [TableRole, string][];

/** The names of the tables, of which parts have some. */
export function tablesOf(has: Readonly<Partial<Record<TableRole, string | undefined>>>): TableNames {
  const roles = OUTPUTS.map(([role]) => role);
  return ofStage(roles, has, (name) => (name === 'api_keys' ? LACKS.api : LACKS.newsletters));
}

export function tablesIn(outputs: Readonly<Record<string, string | undefined>>): TableNames {
  return tablesOf(Object.fromEntries(OUTPUTS.map(([role, output]) => [role, outputs[output]])));
}

export function newsletterQueues(has: { readonly prepare: string; readonly send: string } | undefined) {
  return ofStage(['prepare', 'send'], has ?? {}, () => LACKS.newsletters);
}

const number = v.pipe(v.string(), v.digits(), v.transform(Number));
const text = v.pipe(v.string(), v.minLength(1));

/** Outputs of the stack that say how the stage is set up; a stack or a runtime of before may lack some. */
export const SETTING_OUTPUTS = {
  SweepIntervalSeconds: number,
  RetryPolicy: retryPolicyFromJson,
  NewsletterQueues: v.optional(v.pipe(text, v.parseJson(), v.object({ prepare: text, send: text }))),
  NewsletterConfigurationSet: v.optional(text),
  UncertainMinutes: v.optional(number),
  OwnSendersOnly: v.optional(text),
  RequireAddress: v.optional(text),
  BatchConcurrency: v.optional(number),
  OutcomesBus: v.optional(text),
} as const;
const settings = v.object(SETTING_OUTPUTS);

export function settingsIn(outputs: v.InferOutput<typeof settings>) {
  return {
    newsletter_queues: newsletterQueues(outputs.NewsletterQueues),
    sweep_interval_seconds: outputs.SweepIntervalSeconds,
    retry_policy: outputs.RetryPolicy,
    newsletter_configuration_set: outputs.NewsletterConfigurationSet,
    uncertain_minutes: outputs.UncertainMinutes,
    own_senders_only: outputs.OwnSendersOnly === 'true',
    require_address: outputs.RequireAddress === 'true',
    batch_concurrency: outputs.BatchConcurrency,
    ...(outputs.OutcomesBus !== undefined && { outcomes_bus: outputs.OutcomesBus }),
  };
}
