import type { Delivery } from '../../core/delivery/sender.ts';

/**
 * What is posted. A body that is itself a JSON object or array goes out as it is, byte for byte: its producer has
 * decided what its receiver gets. Anything else is put into an envelope of the form that the Standard Webhooks
 * specification recommends:
 *
 * `{"type":"notification","timestamp":…,"data":{"log_id","tenant_id","subject","message","format"}}`
 *
 * `timestamp` is the attempt's time, ISO-8601 UTC; `subject` is null when there is none; `format` is PLAIN, HTML or
 * MARKDOWN. Members are added to `data`, never removed or renamed.
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
