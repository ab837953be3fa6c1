import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import * as v from 'valibot';
import type { SendResult } from '../../core/delivery/ports.ts';
import { type AnswerContext, acceptanceOf, faultRefusal, refusalOf, type TextVerdict } from './answers.ts';
import { type HttpAnswer, TargetRefusedError } from './network-classification.ts';
import { bareHost, createPoster, type PosterOptions } from './post.ts';

interface Posting extends Omit<AnswerContext, 'code'> {
  readonly poster: TargetPoster;
  /** The URL, which is a credential itself. */
  readonly target: string;
  readonly message: TargetMessage;
  readonly signal: AbortSignal;
  /** The error code of the provider in the text of its answer. */
  readonly codeIn?: (text: string) => string | undefined;
  /** Where the text of an answer with a status of success decides; the status alone unless given. */
  readonly verdictOf?: (text: string) => TextVerdict;
}

/** Posts once to a URL that a tenant chose; every answer, and the lack of one, is a result. */
export async function postTo({ poster, target, message, signal, codeIn, verdictOf, ...given }: Posting) {
  const context = { ...given, secrets: [target, ...(given.secrets ?? [])] };
  try {
    const answer = await poster.post(target, message, signal);
    const { status, text } = answer;
    if (status < 200 || status >= 300) return refusalOf(answer, { ...context, code: codeIn?.(text) });
    if (verdictOf === undefined) return { ok: true, response_code: String(status) } satisfies SendResult;
    const verdict = verdictOf(text);
    if (verdict === 'failed') return refusalOf(answer, { ...context, code: codeIn?.(text) });
    return acceptanceOf(answer, verdict);
  } catch (error) {
    return faultRefusal(error, context);
  }
}

export type TargetPosterOptions = TargetGuardOptions & Omit<PosterOptions, 'lookup'>;

/** Posts to URLs that tenants choose. Every post passes the guard. */
export interface TargetPoster {
  /**
   * @throws TargetRefusedError when the form or host of the URL is refused; NetworkFault with code TARGET_REFUSED
   *   when its name leads to a private address; NetworkFault with another code when no answer came
   */
  post(target: string, message: TargetMessage, signal: AbortSignal): Promise<HttpAnswer>;
  close(): void;
}

interface TargetMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly ports?: readonly number[] | undefined;
}

export function createTargetPoster(options: TargetPosterOptions = {}): TargetPoster {
  const guard = createTargetGuard(options);
  const poster = createPoster({ ...options, lookup: guard.lookup });
  return {
    post: async (target, { ports, ...message }, signal) =>
      poster.post({ url: guard.check(target, ports), ...message, signal }),
    close: poster.close,
  };
}

/** Ports to which an integration may post beside 443 and those of the stage. */
export const targetPorts = v.optional(
  v.array(v.pipe(v.number(), v.integer('must be a whole number'), v.minValue(1), v.maxValue(65_535))),
);

// Not imported: post.ts says why.
const { isIP } = process.getBuiltinModule('node:net');

/**
 * Guards every URL that a tenant can choose against server-side request forgery. The connection itself resolves the
 * name, once, and goes to exactly the addresses that were checked: no second resolution could give other addresses.
 */
interface TargetGuard {
  /**
   * Parses the URL if its form and port are acceptable and its host is not a private address.
   * @param ports allowed for this URL, beside those of the options
   * @throws TargetRefusedError
   */
  check(text: string, ports?: readonly number[]): URL;
  /** For `http.request`. It fails with TargetRefusedError when any address of the name is not public. */
  readonly lookup: LookupFunction;
}

export interface TargetGuardOptions {
  /** Ports that are allowed beside 443. */
  readonly ports?: readonly number[];
  /** Allows plain http, private addresses and any port, for the local runtime only. */
  readonly allowPrivateTargets?: boolean;
  /** Returns all addresses of a name; the system's resolver unless given. */
  readonly resolve?: (hostname: string) => Promise<readonly LookupAddress[]>;
}

export function createTargetGuard(options: TargetGuardOptions = {}): TargetGuard {
  const { allowPrivateTargets = false, ports = [], resolve = resolveBySystem } = options;
  /** Node resolves by four threads: a batch to one silent name would keep all of them from the other hosts. */
  const underWay = new Map<string, Promise<readonly LookupAddress[]>>();
  const addressesOf = (hostname: string) => {
    const found = underWay.get(hostname) ?? resolve(hostname).finally(() => underWay.delete(hostname));
    underWay.set(hostname, found);
    return found;
  };
  return {
    check: (text, more = []) => checkTarget(text, [...ports, ...more], allowPrivateTargets),
    lookup: (hostname, { all }, callback) => {
      addressesOf(hostname).then(
        (found) => {
          const fault = allowPrivateTargets ? undefined : faultOf(found);
          const [first] = found;
          if (fault !== undefined) callback(fault, '');
          else if (all) callback(null, [...found]);
          else callback(null, first?.address ?? '', first?.family);
        },
        (error: NodeJS.ErrnoException) => callback(error, ''),
      );
    },
  };
}

/** Whether a text is meant as a URL. The guard decides whether it may be posted to. */
export const looksLikeUrl = (text: string): boolean => /^https?:\/\//i.test(text.trim());

/** What IANA has reserved (RFC 6890, RFC 5771), and Azure's metadata address, which looks public; those of the other clouds are in these. */
const RESERVED = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16/32', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'],
];
/** RFC 4291 §2.4: only the first part of the IPv6 space is assigned; the rest includes `::a.b.c.d`. IPv4 is mapped into the second. */
const ASSIGNED = ['2000::/3', '::ffff:0:0/96'];

/**
 * Only globally routable unicast addresses are public. An IPv4 address mapped into IPv6 is checked as an IPv4 address.
 * All other forms that embed an address (NAT64, 6to4, Teredo, IPv4-compatible) are refused.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const bits = bitsOf(address);
  const isIn = (subnet: string) => bits.startsWith(prefixOf(subnet));
  return ASSIGNED.some(isIn) && !RESERVED.some(isIn);
}

const prefixes = new Map<string, string>();

function prefixOf(subnet: string): string {
  const known = prefixes.get(subnet);
  if (known !== undefined) return known;
  const [address = '', length] = subnet.split('/');
  const prefix = bitsOf(address).slice(0, Number(length) + (isIP(address) === 4 ? 96 : 0));
  prefixes.set(subnet, prefix);
  return prefix;
}

/** The 128 bits of an address that `isIP` takes, an IPv4 address as IPv6 maps it. Node's BlockList takes 2 ms to load. */
function bitsOf(address: string): string {
  const text = (isIP(address) === 4 ? `::ffff:${address}` : address).replace(
    /(\d+)\.(\d+)\.(\d+)\.(\d+)$/,
    (_, ...[a, b, c, d]) =>
      `${(256 * Number(a) + Number(b)).toString(16)}:${(256 * Number(c) + Number(d)).toString(16)}`,
  );
  const [head = [], tail = []] = text.split('::').map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const groups = [...head, ...zeros, ...tail];
  return groups.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0')).join('');
}

function checkTarget(text: string, ports: readonly number[], allowPrivateTargets: boolean): URL {
  const url = URL.parse(text.trim());
  if (url === null) throw new TargetRefusedError('it is not a URL; expected one with https');
  if (url.protocol !== 'https:' && !(allowPrivateTargets && url.protocol === 'http:')) {
    throw new TargetRefusedError('its scheme must be https');
  }
  if (url.username !== '' || url.password !== '') {
    throw new TargetRefusedError('it must not contain a user name or password');
  }
  // The parser leaves the scheme's own port out.
  if (url.port !== '' && !allowPrivateTargets && !ports.includes(Number(url.port))) {
    throw new TargetRefusedError(`its port must be ${[...new Set([443, ...ports])].join(' or ')}`);
  }
  const host = bareHost(url);
  // The URL parser has already turned forms such as 2130706433 and 0x7f.1 into dotted form.
  if (isIP(host) !== 0 && !allowPrivateTargets && !isPublicAddress(host)) {
    throw new TargetRefusedError('its host is a private or reserved address');
  }
  return url;
}

function faultOf(found: readonly LookupAddress[]): TargetRefusedError | undefined {
  // One private address among public ones is refused, too, because the connection could use it.
  return found.length > 0 && found.every(({ address }) => isPublicAddress(address))
    ? undefined
    : new TargetRefusedError('its host name leads to a private or reserved address');
}

function resolveBySystem(hostname: string): Promise<LookupAddress[]> {
  const { lookup } = process.getBuiltinModule('node:dns');
  return new Promise((done, failed) => {
    lookup(hostname, { all: true }, (error, found) => (error ? failed(error) : done(found)));
  });
}
