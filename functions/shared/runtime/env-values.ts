import * as v from 'valibot';
import { CHANNELS, LANES } from '../../../src/core/model/channels.ts';
import type { Language } from '../../../src/core/model/language/sentences.ts';
import { isTimeZone } from '../../../src/core/model/time.ts';

/** What the variables of several functions have in common. */

export const name = v.pipe(v.string(), v.minLength(1));
export const optionalName = v.optional(name);
export const seconds = v.pipe(v.string(), v.regex(/^\d+$/, 'must be a whole number of seconds'), v.transform(Number));
export const minutes = v.pipe(v.string(), v.digits('must be a whole number of minutes'), v.transform(Number));
export const queueUrl = v.pipe(v.string(), v.url());
const queueUrls = v.object(v.entriesFromList(LANES, queueUrl));
/** Queue URLs of the stage's channels as JSON: `{"email":{"express":url,"standard":url},…}`. */
export const allQueueUrls = v.pipe(
  v.string(),
  v.parseJson(),
  v.partial(v.object(v.entriesFromList(CHANNELS, queueUrls))),
);
export const channelUrls = v.pipe(
  v.string(),
  v.parseJson(),
  v.partial(v.object(v.entriesFromList(CHANNELS, queueUrl))),
);
/** `notices.language` of the stage. */
export const language = v.optional(v.picklist(['en', 'ja'] as const satisfies readonly Language[]), 'en');

/** The stage's channels, with commas between them; all unless given. */
export const channels = v.optional(
  v.pipe(
    v.string(),
    v.transform((text) => text.split(',')),
    v.array(v.picklist(CHANNELS)),
  ),
  CHANNELS.join(','),
);

export const wholeNumber = v.pipe(
  v.string(),
  v.regex(/^[1-9]\d*$/, 'must be a whole number above 0'),
  v.transform(Number),
);

/** Ports as text with commas, such as `443,8443`. */
export const ports = v.optional(
  v.pipe(
    v.string(),
    v.regex(/^\d{1,5}(?:,\d{1,5})*$/, 'must be port numbers with commas between them'),
    v.transform((text) => text.split(',').map(Number)),
  ),
  '443',
);
export const timeZone = v.optional(
  v.pipe(v.string(), v.check(isTimeZone, 'must be a time zone, such as Asia/Tokyo')),
  'UTC',
);

const flag = v.pipe(
  v.picklist(['true', 'false']),
  v.transform((text) => text === 'true'),
);
export const optionalFlag = v.optional(flag, 'false');

/** What opens and seals recipients. */
export const sealing = {
  DATA_KEYS_TABLE: name,
  /** KMS key that wraps the data keys. */
  RECIPIENT_KEY_ARN: optionalName,
};
/** What finds them, too. */
export const sealingAndSearch = {
  DATA_KEYS_TABLE: name,
  RECIPIENT_KEY_ARN: optionalName,
  /** Secret with the key of the hash by which recipients are searched. */
  RECIPIENT_HASH_SECRET: optionalName,
};

/** Variables that only the local runtime sets. */
export const localOnly = {
  /** File with credentials by integration_config_id and with the local keys, instead of Secrets Manager and KMS. */
  LOCAL_SECRETS_FILE: v.optional(name),
  /** `true` allows webhooks to private and loopback addresses and over plain http. */
  ALLOW_PRIVATE_TARGETS: optionalFlag,
  /** Base URL of Slack's Web API, if it is not Slack's own. */
  SLACK_API_URL: v.optional(v.pipe(v.string(), v.url())),
};

type Together<Parts> = Parts extends readonly [infer One, ...infer Others] ? One & Together<Others> : unknown;

/**
 * The environment of a function, in parts that several have. Its calls are marked as pure, and the parts hold names and no
 * calls or spreads, so that a bundle keeps the environment of its own function only.
 */
export function environment<Parts extends readonly v.ObjectEntries[]>(...parts: Parts) {
  return v.object(Object.assign({}, ...parts)) as Together<Parts> extends infer All extends v.ObjectEntries
    ? v.ObjectSchema<All, undefined>
    : never;
}

/** The variables that the construct of a function has to set, as text: what all functions have, service-function.ts sets. */
type Texts<S extends v.GenericSchema> = { [K in keyof v.InferInput<S>]: string };
export type Deployed<S extends v.GenericSchema> = Omit<
  Required<Texts<S>>,
  keyof typeof localOnly | 'POWERTOOLS_METRICS_DISABLED'
>;

/** @throws Error that names every variable that is missing or malformed, and says what it should be */
export function parseEnv<S extends v.GenericSchema>(schema: S, env: NodeJS.ProcessEnv): v.InferOutput<S> {
  const parsed = v.safeParse(schema, env);
  if (parsed.success) return parsed.output;
  const faults = parsed.issues.map((issue) => `${v.getDotPath(issue) ?? 'environment'}: ${issue.message}`);
  throw new Error(`The function's environment is incomplete or malformed: ${faults.join('; ')}`);
}
