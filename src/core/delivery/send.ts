import type { ProviderErrorType } from '../model/error-types.ts';
import { INTAKE_API, type NotificationContent, type NotificationRow } from '../model/notification.ts';
import { whenAborted } from '../model/time.ts';
import type { Delivery, Refused, Sender, SendResult } from './sender.ts';

/** NotificationContent. */
export interface ContentStore {
  /**
   * Rejects within seconds if there is no answer.
   * @throws ContentUnreadableError when there is no content or it cannot be decrypted: a retry will not help
   */
  read(row: Pick<NotificationRow, 'log_id' | 'tenant_id'>): Promise<NotificationContent>;
}

/** The content will never become readable. The message says why, without quoting the content. */
export class ContentUnreadableError extends Error {
  override readonly name = 'ContentUnreadableError';
}

export interface SendDeps {
  readonly contents: ContentStore;
  readonly sender: Sender;
  /** A signal that aborts when the time for one send is over. */
  readonly sendTimeout: () => AbortSignal;
}

/**
 * One attempt at the provider: reads the content and sends it, a second time with a fresh credential where that may
 * help. It never rejects: every failure is a Refused.
 */
export async function send(row: NotificationRow, at: Date, deps: SendDeps): Promise<SendResult> {
  // One time limit for the content and both sends: it is set by the worker's time.
  const signal = deps.sendTimeout();
  try {
    const content = await deps.contents.read(row);
    const delivery: Delivery = {
      log_id: row.log_id,
      tenant_id: row.tenant_id,
      attempt: row.last_attempt,
      channel: row.channel,
      content,
      at,
      ...(row.recipient_type && { recipient_type: row.recipient_type }),
      ...integrationOf(row),
    };
    const first = await sendOnce(delivery, signal, deps);
    const again = !first.ok && (await mayHelp(first, delivery, deps));
    return await withTerms(again ? await sendOnce(delivery, signal, deps) : first, delivery, deps);
  } catch (error) {
    if (error instanceof ContentUnreadableError)
      return { ok: false, error_type: 'FORMAT_ERROR', asked: false, message: error.message };
    // Our storage or key service failed before the provider was asked, so no retry is used up.
    return unsent(error);
  }
}

/** Refusals that another credential may turn into a delivery. */
const BY_CREDENTIAL: ReadonlySet<ProviderErrorType> = new Set(['AUTH_TEMPORARY', 'AUTH_FAILED', 'PERMISSION_DENIED']);

/**
 * Whether the same message goes out once more at once: after AUTH_TEMPORARY always, after a permanent
 * refusal only with another credential, because it was repaired while the worker had the old one in its cache.
 */
async function mayHelp({ error_type }: Refused, delivery: Delivery, { sender }: SendDeps): Promise<boolean> {
  if (!sender.refreshCredential || !BY_CREDENTIAL.has(error_type)) return false;
  const changed = await sender.refreshCredential(delivery);
  return changed || error_type === 'AUTH_TEMPORARY';
}

/** Which integration a notification uses, and whether its tenant chose it. */
export function integrationOf({
  integration_config_id,
  created_by,
}: NotificationRow): Pick<Delivery, 'integration_config_id' | 'chosen_by_tenant'> {
  return {
    ...(integration_config_id && { integration_config_id }),
    ...(created_by === INTAKE_API && { chosen_by_tenant: true as const }),
  };
}

async function withTerms(result: SendResult, delivery: Delivery, { sender }: SendDeps): Promise<SendResult> {
  if (result.ok) return result;
  const retry = await sender.retryTerms?.(delivery);
  return retry === undefined ? result : { ...result, retry };
}

async function sendOnce(delivery: Delivery, signal: AbortSignal, { sender }: SendDeps): Promise<SendResult> {
  try {
    // The time limit also holds for a sender that ignores its signal.
    return await Promise.race([sender.send(delivery, signal), whenAborted(signal).then(() => TIMED_OUT)]);
  } catch (error) {
    return {
      ok: false,
      error_type: 'UNKNOWN',
      // It counts, so that a notification that breaks the sender ends; but it is no sign that the provider is down.
      asked: false,
      message: `The sender failed: ${nameOf(error)}`,
      details: { error: nameOf(error) },
    };
  }
}

const TIMED_OUT: Refused = {
  ok: false,
  error_type: 'NETWORK_TIMEOUT',
  message: 'The provider did not answer in time.',
};

function unsent(error: unknown): Refused {
  return {
    ok: false,
    error_type: 'UNKNOWN',
    asked: false,
    counted: false,
    message: `The content could not be read: ${nameOf(error)}`,
    details: { error: nameOf(error) },
  };
}

/** An error's message may quote an address or a body; its name does not. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'not an Error';
}
