/**
 * The headers of every answer of the console: nothing comes from elsewhere, nothing runs but the page's own script,
 * nobody frames the page, and no address of it leaves with a link.
 * @param tokenOrigins origins that the page asks for tokens, if it signs in by OIDC
 */
export function securityHeaders(tokenOrigins: readonly string[] = []): Readonly<Record<string, string>> {
  const connect = ["'self'", ...tokenOrigins].join(' ');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src ${connect}`,
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    'content-security-policy': policy.join('; '),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  };
}
