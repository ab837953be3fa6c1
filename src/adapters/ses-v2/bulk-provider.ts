import { type BulkEmailEntryResult, type SESv2Client, SendBulkEmailCommand } from '@aws-sdk/client-sesv2';
import { beginning } from '../../core/model/text.ts';
import type { Tracking } from '../../core/newsletter/model/email.ts';
import { type MergeUse, type Pieces, usesOf, withoutFields } from '../../core/newsletter/model/merge-fields.ts';
import {
  type BulkAnswer,
  type BulkCall,
  type BulkEntry,
  type BulkProvider,
  CONFIGURATION_SETS,
  type EntryAnswer,
  type Refusal,
  type Rendering,
} from '../../core/newsletter/model/provider.ts';
import { writtenValue } from '../content/addresses.ts';
import { fromHeader, mailbox } from '../email/address.ts';
import { answerExcerpt } from '../http/answers.ts';
import { sdkFacts } from '../http/network-classification.ts';
import { CALL_RULES, classOf, ENTRY_RULES } from './refusal-rules.ts';

export interface BulkProviderOptions {
  /** A client with `maxAttempts: 1`: a repeated call could send twice. */
  readonly client: SESv2Client;
  /** The one that tracks opens and clicks; the others are named after it. */
  readonly configurationSet: string;
}

/**
 * Sends newsletters by SES v2's SendBulkEmail: one inline template per call, and per entry its values, its unsubscribe
 * headers (RFC 8058) and the tags by which its events find it.
 */
export function createBulkProvider({ client, configurationSet }: BulkProviderOptions): BulkProvider {
  return {
    async send(call) {
      const { entries, rendering, timeout_ms } = call;
      const command = new SendBulkEmailCommand({
        FromEmailAddress: fromHeader(call.from) ?? call.from,
        ...(call.reply_to !== undefined && { ReplyToAddresses: [call.reply_to] }),
        ConfigurationSetName: configurationSetOf(configurationSet, call.track),
        DefaultContent: {
          Template: {
            TemplateContent: templateOf(rendering),
            TemplateData: '{}',
            // Beside those of an entry, whose names are others.
            ...(call.list_id !== undefined && { Headers: [{ Name: 'List-ID', Value: `<${call.list_id}>` }] }),
          },
        },
        BulkEmailEntries: entries.map((entry) => entryOf(entry, rendering)),
      });
      try {
        const { BulkEmailEntryResults = [] } = await client.send(command, {
          abortSignal: AbortSignal.timeout(timeout_ms),
        });
        return { kind: 'answered', entries: BulkEmailEntryResults.map((result) => entryAnswer(result, call)) };
      } catch (error) {
        return callAnswer(error, call);
      }
    },
  };
}

function entryOf(entry: BulkEntry, rendering: Rendering) {
  return {
    // The preparation froze only well-formed addresses; SES wants their domain in punycode.
    Destination: { ToAddresses: [mailbox(entry.to) ?? entry.to] },
    ReplacementEmailContent: { ReplacementTemplate: { ReplacementTemplateData: entryData(entry, rendering) } },
    ReplacementHeaders: [
      { Name: 'List-Unsubscribe', Value: `<${entry.unsubscribe_url}>` },
      { Name: 'List-Unsubscribe-Post', Value: 'List-Unsubscribe=One-Click' },
    ],
    ReplacementTags: Object.entries(entry.tags).map(([Name, Value]) => ({ Name, Value })),
  };
}

function entryAnswer(result: BulkEmailEntryResult, call: BulkCall): EntryAnswer {
  const { Status: code = 'FAILED', MessageId, Error: text } = result;
  if (code === 'SUCCESS') return { accepted: true, message_id: MessageId ?? '' };
  const kind = classOf({ code, ...(text !== undefined && { text }) }, ENTRY_RULES, 'transient');
  // SES's answer for an entry tells that it was not accepted; a status that nobody knows yet costs nobody his mail.
  return { accepted: false, refusal: refusal(kind === 'unknown' ? 'transient' : kind, { code, text }, call) };
}

/** Errors that come neither from SES nor from the network are defects of our code: nothing was sent. */
function callAnswer(error: unknown, call: BulkCall): BulkAnswer {
  const { code, text, status, fromNetwork } = sdkFacts(error);
  const kind = classOf({ code, text, ...(status !== undefined && { status }) }, CALL_RULES, undefined);
  if (kind === undefined && status === undefined && !fromNetwork) {
    return { kind: 'refused', refusal: refusal('settings', { code: 'defect', text }, call) };
  }
  if (kind === undefined || kind === 'unknown') {
    return { kind: 'unknown', error: status === undefined ? code : `SES answered ${status} ${code}` };
  }
  return { kind: 'refused', refusal: refusal(kind, { code, text, status }, call) };
}

interface Facts {
  readonly code: string;
  readonly text?: string | undefined;
  readonly status?: number | undefined;
}

function refusal(kind: Refusal['class'], { code, text, status }: Facts, { entries, rendering }: BulkCall): Refusal {
  const secrets = [...entries.map(({ to }) => to), withoutFields(rendering.subject)];
  return {
    class: kind,
    reason: snakeCase(code),
    ...(text && { message: beginning(answerExcerpt(text, secrets), 200) }),
    ...(status !== undefined && { status_code: status }),
  };
}

/** `MailFromDomainNotVerifiedException` → `mail_from_domain_not_verified`, `MESSAGE_REJECTED` → `message_rejected`. */
function snakeCase(code: string): string {
  const name = code.replace(/Exception$/, '');
  return (/[a-z]/.test(name) ? name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_') : name).toLowerCase();
}

/** A rendering as SES's inline template: Handlebars, which does not escape what it fills in. */
export interface Template {
  readonly Subject: string;
  readonly Html: string;
  readonly Text: string;
}

/** Variables for the characters that Handlebars would take for its own. */
const LITERALS = { lb: '{', rb: '}', bs: '\\' } as const;

/** A variable of a template, and the use of a field that it stands for. */
interface Variable {
  readonly name: string;
  readonly form: Form;
  readonly use: MergeUse;
}

/** Made once per rendering: looking for variables in the whole post for each member would be most of a call's work. */
interface Prepared {
  readonly template: Template;
  readonly variables: readonly Variable[];
  readonly literals: Readonly<Record<string, string>>;
}

const preparedOf = new WeakMap<Rendering, Prepared>();

function prepare(rendering: Rendering): Prepared {
  const known = preparedOf.get(rendering);
  if (known !== undefined) return known;
  const { subject, html, text } = rendering;
  const template = { Subject: filled(subject, 'text'), Html: filled(html, 'html'), Text: filled(text, 'text') };
  const parts = Object.values(template);
  const of = (form: Form, ...texts: readonly Pieces[]) =>
    usesOf(texts.flat()).map((use) => ({ name: variable(use, form), form, use }));
  const prepared = {
    template,
    variables: [...of('text', subject, text), ...of('html', html)],
    literals: Object.fromEntries(
      Object.entries(LITERALS).filter(([name]) => parts.some((part) => part.includes(`{{${name}}}`))),
    ),
  };
  preparedOf.set(rendering, prepared);
  return prepared;
}

/** Replaces merge fields by the template's variables; everything else arrives as it was written. */
export const templateOf = (rendering: Rendering): Template => prepare(rendering).template;

/**
 * Every variable of the template: SES takes default data only for an entry that has none of its own, and a variable
 * without a value fails after the mail was accepted.
 */
export function entryData({ values }: Pick<BulkEntry, 'values'>, rendering: Rendering): string {
  const { variables, literals } = prepare(rendering);
  const data: Record<string, string> = { ...literals };
  for (const { name, form, use } of variables) data[name] = writtenValue(use, values, form);
  return JSON.stringify(data);
}

type Form = 'text' | 'html';

/** Two uses of a field may have different fallbacks, so each fallback makes a variable of its own. */
function variable({ field, fallback, within }: MergeUse, form: Form): string {
  const suffix = fallback === undefined ? '' : `_${Buffer.from(fallback).toString('hex')}`;
  return `${within ?? form}_${field}${suffix}`;
}

function filled(pieces: Pieces, form: Form): string {
  return pieces.map((piece) => (typeof piece === 'string' ? literal(piece) : `{{${variable(piece, form)}}}`)).join('');
}

/**
 * A single brace or backslash inside a text is harmless. Runs of them, and those at its edges, where a variable may
 * follow or precede, would be read by Handlebars.
 */
function literal(text: string): string {
  return text.replaceAll(/[{}\\]{2,}|^[{}\\]|[{}\\]$/g, (run) =>
    [...run].map((char) => (char === '{' ? '{{lb}}' : char === '}' ? '{{rb}}' : '{{bs}}')).join(''),
  );
}

function configurationSetOf(set: string, { opens, clicks }: Tracking = { opens: true, clicks: true }): string {
  const found = CONFIGURATION_SETS.find((one) => one.opens === opens && one.clicks === clicks);
  return `${set}${found?.suffix ?? ''}`;
}
