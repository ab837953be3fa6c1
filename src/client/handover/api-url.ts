/** Why no request can be made with this URL of the API, if so. @param page where relative URLs count */
export function apiUrlFault(url: string, page?: string): string | undefined {
  // Parsers leave blanks at the ends out, and line breaks anywhere: with a path behind them it is another URL.
  if (/[\s\p{Cc}]/u.test(url)) return 'must have no blanks';
  if (!URL.canParse(url, page)) return 'must be an http or https URL';
  const { protocol, username, password } = new URL(url, page);
  if (!/^https?:$/.test(protocol)) return 'must be an http or https URL';
  if (username !== '' || password !== '') return 'must have no user and no password';
  return /[?#]/.test(url) ? 'must have no query and no fragment' : undefined;
}

/** What the paths of the API are added to. */
export function apiBase(url: string, page?: string): string {
  const { origin, pathname } = new URL(url, page);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}
