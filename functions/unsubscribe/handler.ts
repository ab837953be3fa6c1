import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { loadedOnUse } from '../../src/adapters/batching/gather.ts';
import { createBatchStore, createChunkStore } from '../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createEmailStore } from '../../src/adapters/dynamodb/newsletter/email-store.ts';
import { createEventStore } from '../../src/adapters/dynamodb/newsletter/event-store.ts';
import { createMemberStore } from '../../src/adapters/dynamodb/newsletter/member-store.ts';
import { createMemberSealing } from '../../src/adapters/recipient/member-sealing.ts';
import { readUnsubscribeToken } from '../../src/adapters/signing/signed-tokens.ts';
import {
  askPage,
  donePage,
  languageOf,
  MAIL_POLICY,
  type MailPageDeps,
  mailPage,
  PAGE_HEADERS,
  readForm,
  textPage,
  undonePage,
  VIEW,
} from '../../src/adapters/unsubscribe/unsubscribe-pages.ts';
import {
  emailOf,
  type UnsubscribeDeps,
  unsubscribe,
  unsubscription,
} from '../../src/core/newsletter/events/unsubscribe.ts';
import type { Renderings } from '../../src/core/newsletter/model/provider.ts';
import { createApiDynamoDb } from '../shared/runtime/clients/api-dynamodb.ts';
import { unsubscribeEnv } from '../shared/runtime/newsletter-env.ts';
import { bindFunction, count, type Observability } from '../shared/runtime/observability.ts';
import { createSecretsAndKeys } from '../shared/runtime/secrets-and-keys.ts';

export interface UnsubscribeFunctionDeps extends UnsubscribeDeps, MailPageDeps {
  readonly secret: () => Promise<string>;
}

/**
 * The routes `GET`, `HEAD` and `POST /u/{token}` (RFC 8058), and `GET /u/{token}/mail`, a mail as it was sent. GET and
 * HEAD change nothing: programs that look at links in mails follow them. A token is the right to unsubscribe one
 * recipient, so it is never logged.
 */
export function createHandler(deps: UnsubscribeFunctionDeps, { logger, metrics }: Observability) {
  return async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
    const language = languageOf(event.headers['accept-language']);
    const isPost = event.requestContext.http.method === 'POST';
    try {
      const token = event.pathParameters?.['token'] ?? '';
      const secret = await deps.secret();
      const place = readUnsubscribeToken(secret, token);
      if (!isPost && VIEW.test(token)) {
        const page = await mailPage({ place, token, secret }, deps);
        return page === undefined
          ? answer(404, textPage('invalid', language))
          : answer(200, page, { 'content-security-policy': MAIL_POLICY });
      }
      const { undo, ofPage } = readForm(isPost ? bodyOf(event) : '');
      if (isPost) {
        const done = await unsubscribe(place, deps, { undo });
        if (done && !undo) count(metrics, 'Unsubscriptions');
        logger.info('unsubscribe', { status: done ? 200 : 404, undo, ...(done && { email_id: place?.email_id }) });
        if (!done) return answer(404, textPage('invalid', language));
        if (!ofPage && !undo) return answer(200, donePage(undefined, language, false));
      }
      const email = await emailOf(place, deps);
      const content = email && (await deps.emails.content(email.email_id));
      if (place === undefined || email === undefined || content === undefined) {
        return answer(404, textPage('invalid', language));
      }
      const { name, language: own = language } = content.newsletter;
      if (undo) return answer(200, undonePage(name, own));
      const left = await unsubscription(email, place, deps);
      return answer(200, left || isPost ? donePage(name, own, left?.can_undo === true) : askPage(name, own));
    } catch (error) {
      logger.error('unsubscription failed on our side', { error: error as Error });
      return answer(503, textPage('fault', language), { 'retry-after': '60' });
    }
  };
}

/** API Gateway encodes forms. */
const bodyOf = ({ body = '', isBase64Encoded }: APIGatewayProxyEventV2): string =>
  isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;

function answer(statusCode: number, body: string, headers: Readonly<Record<string, string>> = {}) {
  return { statusCode, headers: { ...PAGE_HEADERS, ...headers }, body };
}

export const handler = bindFunction(unsubscribeEnv, (env, observability) => {
  const client = createApiDynamoDb();
  const clock = () => new Date();
  const { sealer, hashKey, unsubscribeSecret } = createSecretsAndKeys(env, client);
  const deps: UnsubscribeFunctionDeps = {
    emails: createEmailStore(client, env.EMAILS_TABLE, clock),
    chunks: createChunkStore(client, { table: env.EMAIL_RECIPIENTS_TABLE, sealer, clock }),
    events: createEventStore(client, env.EMAIL_BATCHES_TABLE, clock),
    batches: createBatchStore(client, env.EMAIL_BATCHES_TABLE, clock),
    members: createMemberStore(client, env.MEMBERS_TABLE, clock),
    renderings: loadedOnUse<Renderings>(
      async () => (await import('../../src/adapters/post/post-renderer.ts')).createRenderings(),
      'of',
    ),
    sealing: createMemberSealing(sealer, hashKey),
    secret: unsubscribeSecret,
    clock,
  };
  return createHandler(deps, observability);
});
