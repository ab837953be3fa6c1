import { domainToASCII } from 'node:url';

/** The dot-atom of RFC 5322. Quoted local parts and lists of recipients are refused. Lengths: RFC 5321 §4.5.3.1. */
const LOCAL_PART = /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;

/**
 * The address in the form that SES accepts: one mailbox, ASCII before the `@` (SES has no SMTPUTF8), the domain in
 * punycode.
 * @returns undefined when the text is not such an address
 */
export function mailbox(text: string): string | undefined {
  const address = text.trim();
  const at = address.lastIndexOf('@');
  const local = address.slice(0, Math.max(at, 0));
  const domain = domainToASCII(address.slice(at + 1));
  const labels = domain.split('.');
  const fits = local.length <= 64 && domain.length <= 253 && LOCAL_PART.test(local);
  return fits && labels.length > 1 && labels.every((label) => LABEL.test(label)) ? `${local}@${domain}` : undefined;
}

const NAMED = /^([^<>"\r\n]*|"[^"\\<>\r\n]*")\s*<([^<>]+)>$/;

/**
 * The address in a From header: `Name <local@domain>`, or an address alone.
 * @returns undefined when the text is neither
 */
export function senderMailbox(text: string): string | undefined {
  const [, , address = text] = NAMED.exec(text.trim()) ?? [];
  return mailbox(address);
}

/** A domain in lower case and ASCII; undefined for no domain. */
export function mailDomain(text: string): string | undefined {
  return mailbox(`postmaster@${text.trim()}`)?.slice('postmaster@'.length);
}
