import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type KoaContextWithOIDC } from 'oidc-provider';

export const CLIENT_ID = 'console';
const RESOURCE = 'urn:console';
const SCOPE = 'openid email profile';

/** What the issuer does; a test changes it between two sign-ins. */
interface IssuerSettings {
  tokenSeconds: number;
  refreshTokens: boolean;
  audience: string;
}

export interface Issuer {
  readonly url: string;
  readonly settings: IssuerSettings;
  /** `GET /auth prompt=none`, `POST /token refresh_token`, `POST /token refresh_token refused`, … in their order. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/**
 * An OIDC server that is certified, on loopback. Whoever signs in by any name is in the group of that name.
 * @param pageUrl the only address to which it sends people back
 */
export async function startIssuer(pageUrl: string): Promise<Issuer> {
  const settings: IssuerSettings = { tokenSeconds: 900, refreshTokens: true, audience: CLIENT_ID };
  const requests: string[] = [];
  let provider: Provider | undefined;
  const server = createServer((request, response) => void provider?.callback()(request, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  provider = new Provider(url, {
    clients: [
      {
        client_id: CLIENT_ID,
        token_endpoint_auth_method: 'none',
        redirect_uris: [pageUrl],
        post_logout_redirect_uris: [pageUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    claims: { email: ['email'], openid: ['sub'] },
    clientBasedCORS: (_, origin) => origin === new URL(pageUrl).origin,
    cookies: { keys: ['a key for tests'] },
    extraTokenClaims: (_, token) => {
      const name = 'accountId' in token ? String(token.accountId) : '';
      return { groups: [name], email: `${name}@example.com` };
    },
    features: {
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: SCOPE,
          audience: settings.audience,
          accessTokenTTL: settings.tokenSeconds,
          accessTokenFormat: 'jwt',
        }),
      },
      revocation: { enabled: true },
    },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com` }) }),
    issueRefreshToken: () => settings.refreshTokens,
    // As the stack's user pool: each is taken once, and what comes twice ends the session (RFC 9700, 2.2.2).
    rotateRefreshToken: true,
    // Nobody is asked to consent: organisations consent for their people.
    loadExistingGrant: async ({ oidc }) => {
      if (oidc.session?.accountId === undefined) return undefined;
      const grant = new oidc.provider.Grant({ accountId: oidc.session.accountId, clientId: CLIENT_ID });
      grant.addOIDCScope(SCOPE);
      grant.addResourceScope(RESOURCE, SCOPE);
      await grant.save();
      return grant;
    },
    pkce: { required: () => true },
    ttl: { AccessToken: () => settings.tokenSeconds, Interaction: 600, Grant: 3600, IdToken: 600, Session: 3600 },
  });
  provider.use(async (context, next) => {
    await next();
    const { oidc } = context as Partial<KoaContextWithOIDC>;
    const { grant_type = '', prompt } = oidc?.params ?? {};
    const what = `${context.method} ${context.path} ${prompt ? `prompt=${prompt}` : grant_type}`.trim();
    requests.push(context.status === 400 ? `${what} refused` : what);
  });
  return { url, settings, requests, close: () => closed(server) };
}

export function closed(server: Server): Promise<void> {
  return new Promise((done) => {
    server.close(() => done());
    server.closeAllConnections();
  });
}
