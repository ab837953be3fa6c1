/** The origins that were warned of, so that each is named once per process. */
const warned = new Set<string>();

/**
 * Warns once of an API that is reached without encryption beyond this machine: its key and the notifications could be
 * read on the way.
 */
export function warnOfPlainHttp(url: string): void {
  const { protocol, hostname, origin } = new URL(url);
  if (protocol !== 'http:' || LOOPBACK.test(hostname) || warned.has(origin)) return;
  warned.add(origin);
  process.emitWarning(
    `The notification client sends its API key and all content to ${origin} without encryption: use https.`,
    { code: 'NOTIFICATION_CLIENT_PLAIN_HTTP' },
  );
}

/** The URL parser has turned every form of an address into this one. */
const LOOPBACK = /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
