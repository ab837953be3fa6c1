import type { Delivery, Refused, Sender, SendResult } from '../../core/delivery/sender.ts';
import { convertContent } from '../content/convert-content.ts';
import type { HttpAnswer } from '../http/post.ts';
import { faultRefusal, refusalOf } from '../http/refusal.ts';
import { looksLikeUrl } from '../http/target-guard.ts';
import { createTargetPoster, type TargetPoster, type TargetPosterOptions } from '../http/target-poster.ts';
import type { IntegrationCredentials } from '../secrets/integration-credentials.ts';
import { adaptiveCardMessage, MAX_CARD_BYTES } from './adaptive-card.ts';
import { CONNECTOR_FAILURE, TEAMS_RULES } from './classification.ts';
import { teamsCredential } from './credential.ts';

interface TeamsSenderOptions extends TargetPosterOptions {
  readonly credentials: IntegrationCredentials;
}

/**
 * Sends to Teams through a Workflows webhook. The URL comes from the credential of the integration. A notification
 * without integration is posted to its recipient if that is an https URL. Status 202 means that the flow
 * was started; Teams reports no more than that.
 */
export function createTeamsSender({ credentials, ...http }: TeamsSenderOptions): Sender {
  const poster = createTargetPoster(http);
  return {
    async send(delivery, signal) {
      const loaded = await credentials.load(teamsCredential, delivery);
      if (!loaded.ok) return loaded;
      const target = loaded.credential?.webhook_url ?? delivery.content.recipient;
      if (!looksLikeUrl(target)) return NO_TARGET;
      return post({ poster, delivery, target, ports: loaded.credential?.ports, signal });
    },
    refreshCredential: credentials.refresh,
  };
}

const NO_TARGET: Refused = {
  ok: false,
  error_type: 'AUTH_FAILED',
  message:
    'there is no webhook to post to: set integration_config_id to an integration whose secret has webhook_url, or give the workflow URL as recipient',
};

interface Posting {
  readonly poster: TargetPoster;
  readonly delivery: Delivery;
  readonly target: string;
  readonly ports: readonly number[] | undefined;
  readonly signal: AbortSignal;
}

async function post({ poster, delivery, target, ports, signal }: Posting): Promise<SendResult> {
  const conversion = await convertContent(delivery.content, adaptiveCardMessage);
  if (!conversion.ok) return conversion;
  const body = conversion.value;
  const size = Buffer.byteLength(body);
  if (size > MAX_CARD_BYTES) return tooLarge(size);
  try {
    const headers = { 'content-type': 'application/json' };
    const answer = await poster.post(target, { headers, body, ports }, signal);
    if (isAccepted(answer)) return { ok: true, response_code: String(answer.status) };
    const code = workflowError(answer.text);
    return refusalOf(answer, { who: 'the Teams webhook', delivery, rules: TEAMS_RULES, code, secret: target });
  } catch (error) {
    return faultRefusal(error, TEAMS_RULES);
  }
}

function isAccepted({ status, text }: HttpAnswer): boolean {
  return status >= 200 && status < 300 && !CONNECTOR_FAILURE.test(text);
}

function tooLarge(size: number): Refused {
  return {
    ok: false,
    error_type: 'FORMAT_ERROR',
    message: `the card has ${size} bytes; Teams takes at most ${MAX_CARD_BYTES}: shorten subject or message_body`,
    details: { size, limit: MAX_CARD_BYTES },
  };
}

/** Power Automate answers `{"error":{"code":"WorkflowNotFound","message":…}}`. */
function workflowError(text: string): string | undefined {
  try {
    const code: unknown = JSON.parse(text)?.error?.code;
    return typeof code === 'string' && /^\w{1,80}$/.test(code) ? code : undefined;
  } catch {
    return undefined;
  }
}
