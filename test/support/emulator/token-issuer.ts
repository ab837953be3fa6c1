import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/** The audience of the tokens. */
export const CLIENT_ID = 'console';

export interface TokenIssuer {
  readonly url: string;
  /** An access token of somebody who is in a group. */
  tokenFor(group: string): Promise<string>;
  close(): Promise<void>;
}

/** What an API's authorizer needs of an OIDC issuer: discovery and keys. How people sign in is tested in test/browser. */
export async function startTokenIssuer(): Promise<TokenIssuer> {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'key', use: 'sig', alg: 'RS256' }];
  const server = createServer(({ url: path }, response) => {
    const body = path === '/jwks' ? { keys } : { issuer: url, jwks_uri: `${url}/jwks` };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    tokenFor: (group) =>
      new SignJWT({ groups: [group], email: `${group}@your-domain.example` })
        .setProtectedHeader({ alg: 'RS256', kid: 'key' })
        .setIssuer(url)
        .setAudience(CLIENT_ID)
        .setSubject(`sub-of-${group}`)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey),
    close: () => new Promise<void>((closed) => server.close(() => closed())),
  };
}
