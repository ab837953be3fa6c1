/**
 * An id as a segment of a path. API Gateway decodes paths twice and splits them in between: an id with one of these
 * characters goes as `~` and its base64url, as no escape of it comes through.
 */
export function pathSegment(id: string): string {
  if (!/[/\\?#%+;~\p{Cc}]|^\.*$/u.test(id)) return encodeURIComponent(id);
  const bytes = String.fromCharCode(...new TextEncoder().encode(id));
  return `~${btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}
