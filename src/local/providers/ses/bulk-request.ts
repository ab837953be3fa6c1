import * as v from 'valibot';

const headers = v.optional(v.array(v.object({ Name: v.string(), Value: v.string() })), []);
const template = v.object({
  TemplateContent: v.object({
    Subject: v.optional(v.string(), ''),
    Html: v.optional(v.string(), ''),
    Text: v.optional(v.string(), ''),
  }),
  TemplateData: v.optional(v.string(), '{}'),
  Headers: headers,
});

/** SendBulkEmail of SES v2 with inline content: the only form that newsletters use. */
const bulkRequest = v.object({
  FromEmailAddress: v.pipe(v.string(), v.minLength(3)),
  ReplyToAddresses: v.optional(v.array(v.string()), []),
  ConfigurationSetName: v.optional(v.string(), ''),
  DefaultContent: v.object({ Template: template }),
  BulkEmailEntries: v.pipe(
    v.array(
      v.object({
        Destination: v.object({ ToAddresses: v.pipe(v.array(v.string()), v.length(1)) }),
        ReplacementEmailContent: v.optional(
          v.object({
            ReplacementTemplate: v.optional(v.object({ ReplacementTemplateData: v.optional(v.string(), '{}') })),
          }),
        ),
        ReplacementHeaders: headers,
        ReplacementTags: headers,
      }),
    ),
    v.minLength(1),
    v.maxLength(50, 'at most 50 entries'),
  ),
});

export interface BulkMail {
  readonly to: string;
  /** Local part of the address: decides what happens to the mail. */
  readonly word: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
  /** Values of the template's variables; undefined when they are not JSON. */
  readonly values: Readonly<Record<string, unknown>> | undefined;
}

export interface BulkRequest {
  readonly from: string;
  readonly configuration_set: string;
  readonly template: { readonly subject: string; readonly html: string; readonly text: string };
  readonly mails: readonly BulkMail[];
}

/** The most bytes of a call with an inline template. */
const MAX_BYTES = 1024 * 1024;

/** Reads a request. A text says what is wrong with it. */
export function readBulkRequest(body: Buffer): BulkRequest | string {
  if (body.length > MAX_BYTES) return `The request has ${body.length} bytes; at most ${MAX_BYTES} are possible.`;
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), bulkRequest), body.toString());
  if (!parsed.success) return v.summarize(parsed.issues).slice(0, 300);
  const { FromEmailAddress, ConfigurationSetName, DefaultContent, BulkEmailEntries } = parsed.output;
  const { Subject, Html, Text } = DefaultContent.Template.TemplateContent;
  const reply = parsed.output.ReplyToAddresses.join(', ');
  const ofAll = { ...(reply !== '' && { 'Reply-To': reply }), ...byName(DefaultContent.Template.Headers) };
  const common = valuesIn(DefaultContent.Template.TemplateData);
  return {
    from: FromEmailAddress,
    configuration_set: ConfigurationSetName,
    template: { subject: Subject, html: Html, text: Text },
    mails: BulkEmailEntries.map((entry) => {
      const [to = ''] = entry.Destination.ToAddresses;
      const own = valuesIn(entry.ReplacementEmailContent?.ReplacementTemplate?.ReplacementTemplateData ?? '{}');
      return {
        to,
        word: to.replace(/@.*/, ''),
        headers: { ...ofAll, ...byName(entry.ReplacementHeaders) },
        tags: byName(entry.ReplacementTags),
        // SES takes the default data only where an entry has none of its own.
        values: own !== undefined && Object.keys(own).length === 0 ? common : own,
      };
    }),
  };
}

/** Fills the variables in; undefined when one has no value, as SES then reports a Rendering Failure. */
export function rendered(
  { subject, html, text }: BulkRequest['template'],
  values: BulkMail['values'],
): BulkRequest['template'] | undefined {
  if (values === undefined) return undefined;
  let missing = false;
  const fill = (content: string) =>
    content.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
      if (!Object.hasOwn(values, name)) missing = true;
      return String(values[name] ?? '');
    });
  const filled = { subject: fill(subject), html: fill(html), text: fill(text) };
  return missing ? undefined : filled;
}

function byName(list: readonly { readonly Name: string; readonly Value: string }[]): Record<string, string> {
  return Object.fromEntries(list.map(({ Name, Value }) => [Name, Value]));
}

function valuesIn(text: string): Record<string, unknown> | undefined {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.unknown())), text);
  return parsed.success ? parsed.output : undefined;
}
