import * as v from 'valibot';
import type { Refused, Sender } from '../../core/delivery/ports.ts';
import { refusedByUs } from '../../core/model/error-types.ts';
import type { NotificationRow } from '../../core/model/notification.ts';
import { jsonObject } from '../../core/model/text.ts';
import { TEAMS_PER_SECOND } from '../../core/pacing/pacing-policy.ts';
import type { PacedReceiver } from '../../core/pacing/ports.ts';
import { convertContent } from '../content/convert-content.ts';
import type { TextVerdict } from '../http/answers.ts';
import { PAGE } from '../http/network-classification.ts';
import { createTargetPoster, looksLikeUrl, postTo, type TargetPosterOptions, targetPorts } from '../http/target.ts';
import type { IntegrationCredentials } from '../secrets/integration-credentials.ts';
import { recipientBudget, sharedBudget } from '../signing/hashed-ids.ts';
import { adaptiveCardMessage, cardBytes, MAX_CARD_BYTES } from './card.ts';
import { CONNECTOR_FAILURE, TEAMS_RULES } from './classification.ts';

/** The URL of a Teams workflow is a credential: it is all that a post needs. `ports` are allowed beside 443. */
export const teamsCredential = v.object({ webhook_url: v.string(), ports: targetPorts });

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
      if (!looksLikeUrl(target)) return NO_WORKFLOW;
      const conversion = await convertContent(delivery.content, adaptiveCardMessage);
      if (!conversion.ok) return conversion;
      const body = conversion.value;
      const size = cardBytes(body);
      if (size > MAX_CARD_BYTES) return tooLarge(size);
      const headers = { 'content-type': 'application/json' };
      const message = { headers, body, ports: loaded.credential?.ports };
      const context = {
        who: 'the Teams webhook',
        rules: TEAMS_RULES,
        codeIn: workflowError,
        verdictOf,
      };
      return postTo({ poster, delivery, target, message, signal, ...context });
    },
    refreshCredential: credentials.refresh,
  };
}

const NO_WORKFLOW = refusedByUs('no_workflow', 'there is no webhook of a workflow to post to');

function tooLarge(size: number): Refused {
  const says = `the card has ${size} bytes as a text in JSON; Teams takes at most ${MAX_CARD_BYTES}`;
  return { ...refusedByUs('too_large', says), details: { size, limit: MAX_CARD_BYTES } };
}

/** Power Automate answers `{"error":{"code":"WorkflowNotFound","message":…}}`. */
function workflowError(text: string): string | undefined {
  const { error } = (jsonObject(text) ?? {}) as { readonly error?: { readonly code?: unknown } | null };
  return typeof error?.code === 'string' && /^\w{1,80}$/.test(error.code) ? error.code : undefined;
}

/** Teams has no text for an acceptance: workflows answer 202 without one, connectors `1`. */
function verdictOf(text: string): TextVerdict {
  return CONNECTOR_FAILURE.test(text) || PAGE.test(text) || workflowError(text) !== undefined ? 'failed' : 'accepted';
}

/** Teams counts posts by workflow: that of the integration, or the recipient. */
export async function teamsReceiver(row: NotificationRow): Promise<PacedReceiver | undefined> {
  const budget = sharedBudget(row) ?? recipientBudget(row);
  return budget && { ...budget, per_second: TEAMS_PER_SECOND };
}
