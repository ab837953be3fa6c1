import { type MessageTag, type SESClient, SendEmailCommand } from '@aws-sdk/client-ses';
import { type AnswerFacts, classify, type Delivery, type Refused, type Sender } from '../../core/delivery/sender.ts';
import { convertContent } from '../content/convert-content.ts';
import { answerExcerpt } from '../http/answer-excerpt.ts';
import { providerSafeId } from '../http/provider-safe-id.ts';
import { parseRetryAfter } from '../http/retry-after.ts';
import type { IntegrationCredentials } from '../secrets/integration-credentials.ts';
import { mailbox } from './address.ts';
import { bodyOf, subjectOf } from './body.ts';
import { EMAIL_RULES } from './classification.ts';
import { emailCredential } from './credential.ts';
import { toTag } from './message-tag.ts';

interface EmailSenderOptions {
  /** With `maxAttempts: 1`: the retries of the pipeline are the only ones (design §10). */
  readonly client: SESClient;
  readonly credentials: IntegrationCredentials;
  /** The verified address to send from when the integration has none of its own. */
  readonly from: string;
  readonly configurationSet?: string;
}

/**
 * E-mail through SES v1. Every mail carries the tags `log_id` and `attempt`, by which SES's events find their attempt
 * (message-tag.ts), and `tenant_id`. An integration may set its own `from` and `configuration_set`; one that has no
 * secret uses the stage's, since there is nothing secret that it could lack.
 */
export function createEmailSender({ client, credentials, from, configurationSet }: EmailSenderOptions): Sender {
  return {
    async send(delivery, signal) {
      const loaded = await credentials.load(emailCredential, delivery, { optional: true });
      if (!loaded.ok) return loaded;
      const to = mailbox(delivery.content.recipient);
      if (to === undefined) return BAD_ADDRESS;
      const body = await convertContent(delivery.content, bodyOf);
      if (!body.ok) return body;
      const configuration = loaded.credential?.configuration_set ?? configurationSet;
      const command = new SendEmailCommand({
        Source: loaded.credential?.from ?? from,
        Destination: { ToAddresses: [to] },
        Message: { Subject: subjectOf(delivery.content), Body: body.value },
        Tags: tagsOf(delivery),
        ...(configuration !== undefined && { ConfigurationSetName: configuration }),
      });
      try {
        const { MessageId, $metadata } = await client.send(command, { abortSignal: signal });
        const response_code = String($metadata.httpStatusCode ?? 200);
        return { ok: true, response_code, ...(MessageId !== undefined && { provider_message_id: MessageId }) };
      } catch (error) {
        return refusalOf(error, delivery);
      }
    },
    async refreshCredential(delivery) {
      await credentials.load(emailCredential, delivery, { fresh: true, optional: true });
    },
  };
}

const BAD_ADDRESS: Refused = {
  ok: false,
  error_type: 'INVALID_RECIPIENT',
  message: 'the recipient is not one e-mail address of the form local@domain.tld (ASCII before the @)',
};

function tagsOf({ log_id, tenant_id, attempt }: Delivery): MessageTag[] {
  return [
    { Name: 'log_id', Value: toTag(log_id) },
    { Name: 'attempt', Value: String(attempt) },
    { Name: 'tenant_id', Value: providerSafeId(tenant_id) },
  ];
}

/** @throws whatever did not come from the SDK or the network: a defect of ours. */
function refusalOf(error: unknown, { content, at }: Delivery): Refused {
  if (!(error instanceof Error)) throw error;
  const { status, code, text, retryAfter } = factsOf(error);
  if (status === undefined && classify({ code }, EMAIL_RULES) === 'UNKNOWN' && !('code' in error)) throw error;
  const excerpt = answerExcerpt(text, [content.recipient, content.subject, content.body]);
  const delay = parseRetryAfter(retryAfter, at);
  return {
    ok: false,
    error_type: classify({ code, text, ...(status !== undefined && { status }) }, EMAIL_RULES),
    response_code: code.slice(0, 20),
    message: status === undefined ? `SES could not be reached (${code})` : `SES answered ${status} ${code}`,
    ...(delay !== undefined && { retry_after_ms: delay }),
    details: { code, ...(status !== undefined && { status, text: excerpt }) },
  };
}

interface SdkFacts extends AnswerFacts {
  readonly code: string;
  readonly text: string;
  readonly retryAfter: string | undefined;
}

/** Service errors have SES's code as name; network errors have Node's as code, perhaps only in their cause. */
function factsOf(error: Error): SdkFacts {
  const { $metadata, $response, code, cause } = error as Error & {
    $metadata?: { httpStatusCode?: number };
    $response?: { headers?: Record<string, string> };
    code?: unknown;
  };
  const status = $metadata?.httpStatusCode;
  const inner = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const nodeCode = [code, inner].find((value) => typeof value === 'string');
  return {
    code: status === undefined ? String(nodeCode ?? error.name) : error.name,
    text: error.message,
    retryAfter: $response?.headers?.['retry-after'],
    ...(status !== undefined && { status }),
  };
}
