import { domainToASCII } from 'node:url';

/** The dot-atom of RFC 5322. Quoted local parts and lists of recipients are refused. Lengths: RFC 5321 §4.5.3.1. */
const LOCAL_PART = /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;
/** Domains in the form that they are given here: nearly all. No number at the end, which would make it an IP address. */
const IN_FORM = /^(?!.*xn--)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/;

/**
 * The address in the form that SES accepts: one mailbox, ASCII before the `@` (SES has no SMTPUTF8), the domain in
 * punycode.
 * @returns undefined when the text is not such an address
 */
export function mailbox(text: string): string | undefined {
  const address = text.trim();
  const at = address.lastIndexOf('@');
  const local = address.slice(0, Math.max(at, 0));
  const domain = asciiDomain(address.slice(at + 1));
  if (domain === undefined || domain.length > 253 || local.length > 64 || !LOCAL_PART.test(local)) return undefined;
  return `${local}@${domain}`;
}

function asciiDomain(text: string): string | undefined {
  if (IN_FORM.test(text)) return text;
  const domain = domainToASCII(text);
  const labels = domain.split('.');
  // A number at the end makes it an IP address, which `0x7f.1` becomes, too.
  const isName = labels.length > 1 && labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '');
  return isName ? domain : undefined;
}

/** Before the address: a quoted string, or words, which people write with quotes among them. */
const NAMED = /^("(?:[^"\\\r\n]|\\.)*"|[^<>\r\n]*)\s*<([^<>]+)>$/;

/** The address in a From header: `Name <local@domain>`, or an address alone. @returns undefined for neither */
export function senderMailbox(text: string): string | undefined {
  const [, , address = text] = NAMED.exec(text.trim()) ?? [];
  return mailbox(address);
}

/** RFC 5322's atoms with spaces between, or RFC 2047's encoded words, which look the same. */
const ATOMS = /^[\w!#$%&'*+/=?^`{|}~ -]+$/;
/** Bytes of an encoded word: with its frame of 12 it has at most 75 characters (RFC 2047 §2). */
const WORD_BYTES = 45;

/**
 * A sender as SES takes it in a header: a name that is no atom is quoted, one that is not ASCII is made of encoded words
 * (RFC 2047), the domain is in punycode.
 * @returns undefined when the text is neither `Name <local@domain>` nor an address alone
 */
export function fromHeader(text: string): string | undefined {
  const [, written = '', named = text] = NAMED.exec(text.trim()) ?? [];
  const address = mailbox(named);
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(written.trim())?.[1]?.replaceAll(/\\(.)/g, '$1');
  const name = (quoted ?? written).trim();
  return address === undefined || name === '' ? address : `${phrase(name)} <${address}>`;
}

function phrase(name: string): string {
  if (ATOMS.test(name)) return name;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII without control characters is meant.
  if (/^[^\x00-\x1f\x7f-\uffff]*$/.test(name)) return `"${name.replaceAll(/["\\]/g, '\\$&')}"`;
  const words: string[] = [''];
  for (const char of name) {
    const longer = `${words.at(-1)}${char}`;
    if (Buffer.byteLength(longer) <= WORD_BYTES) words[words.length - 1] = longer;
    else words.push(char);
  }
  return words.map((word) => `=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`).join(' ');
}

/** A domain in lower case and ASCII; undefined for no domain. */
export function mailDomain(text: string): string | undefined {
  return mailbox(`postmaster@${text.trim()}`)?.slice('postmaster@'.length);
}
