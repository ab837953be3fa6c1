import { type BulkEmailEntryResult, type SESv2Client, SendBulkEmailCommand } from '@aws-sdk/client-sesv2';
import { beginning } from '../../core/model/text.ts';
import type {
  BulkAnswer,
  BulkCall,
  BulkEntry,
  BulkProvider,
  EntryAnswer,
  Refusal,
  Rendering,
} from '../../core/newsletter/model/provider.ts';
import { fromHeader, mailbox } from '../email/address.ts';
import { answerExcerpt } from '../http/answer-excerpt.ts';
import { sdkFacts } from '../http/sdk-error.ts';
import { CALL_RULES, classOf, ENTRY_RULES } from './refusal-rules.ts';
import { entryData, templateOf } from './template.ts';

export interface BulkProviderOptions {
  /** A client with `maxAttempts: 1`: a repeated call could send twice. */
  readonly client: SESv2Client;
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
        ConfigurationSetName: configurationSet,
        DefaultContent: { Template: { TemplateContent: templateOf(rendering), TemplateData: '{}' } },
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
  const secrets = [...entries.map(({ to }) => to), rendering.subject];
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
