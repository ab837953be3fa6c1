import type { Delivery } from '../../core/delivery/sender.ts';

/**
 * The body of the POST. A message body that is a JSON object or array is posted unchanged, byte for byte: its
 * producer has decided what the receiver gets. Any other body is put into the envelope that the Standard Webhooks
 * specification recommends:
 *
 * `{"type":"notification","timestamp":…,"data":{"log_id","tenant_id","subject","message","format"}}`
 *
 * `timestamp` is the time of the attempt (ISO-8601 UTC). `subject` is null when there is none. `format` is PLAIN,
 * HTML or MARKDOWN. Later versions may add members to `data`; they never remove or rename one.
 */
export function webhookPayload({ log_id, tenant_id, content, at }: Delivery): string {
  if (isJsonDocument(content.body)) return content.body;
  return JSON.stringify({
    type: 'notification',
    timestamp: at.toISOString(),
    data: {
      log_id,
      tenant_id,
      subject: content.subject ?? null,
      message: content.body,
      format: content.format,
    },
  });
}

function isJsonDocument(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
