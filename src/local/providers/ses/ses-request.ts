import { fromTag } from '../../../adapters/signing/hashed-ids.ts';
import type { Call } from '../respond.ts';

/** The form fields of a request that sends a mail; undefined for any other request. */
export function sendFields(method: string | undefined, url: string | undefined, body: Buffer) {
  if (method !== 'POST' || url !== '/') return undefined;
  const fields = new URLSearchParams(body.toString());
  return fields.get('Action')?.startsWith('Send') ? fields : undefined;
}

/** Reads SendEmail and SendRawEmail of SES v1. The local part of the recipient's address is the word. */
export function emailCall(fields: URLSearchParams): Call {
  const raw = Buffer.from(fields.get('RawMessage.Data') ?? '', 'base64').toString();
  const recipient =
    fields.get('Destination.ToAddresses.member.1') ??
    fields.get('Destinations.member.1') ??
    /^To:\s*(?:.*<)?([^<>\s]+@[^<>\s]+)/im.exec(raw)?.[1] ??
    '';
  const id = tagsOf(fields)['log_id'] ?? /^X-SES-MESSAGE-TAGS:.*\blog_id=([\w-]+)/im.exec(raw)?.[1];
  const body = raw === '' ? JSON.stringify(readable(fields)) : raw;
  return {
    channel: 'email',
    word: recipient.replace(/@.*/, ''),
    target: recipient,
    body,
    ...(id === undefined ? {} : { log_id: fromTag(id) }),
  };
}

/** `Name <local@domain>` or an address: in ASCII, the name quoted where RFC 5322 wants it. SES refuses another sender. */
export function isSender(text: string): boolean {
  return (
    /^[\x20-\x7e]*$/.test(text) &&
    /^(?:[^\s<>@,"]+@[^\s<>@,"]+|(?:[^()<>[\]:;@\\,."]+|"(?:[^"\\]|\\.)*")?\s*<[^\s<>@,"]+@[^\s<>@,"]+>)$/.test(text)
  );
}

/** SES counts recipients, not mails. */
export function recipientsOf(fields: URLSearchParams): number {
  const named = [...fields.keys()].filter((name) => /^Destinations?\.(\w+Addresses\.)?member\.\d+$/.test(name));
  return Math.max(1, named.length);
}

export function tagsOf(fields: URLSearchParams): Record<string, string> {
  const tags: Record<string, string> = {};
  for (let index = 1; fields.has(`Tags.member.${index}.Name`); index++) {
    tags[fields.get(`Tags.member.${index}.Name`) ?? ''] = fields.get(`Tags.member.${index}.Value`) ?? '';
  }
  return tags;
}

function readable(fields: URLSearchParams) {
  return {
    from: fields.get('Source'),
    subject: fields.get('Message.Subject.Data'),
    text: fields.get('Message.Body.Text.Data'),
    html: fields.get('Message.Body.Html.Data'),
    configuration_set: fields.get('ConfigurationSetName'),
  };
}
