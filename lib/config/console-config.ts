import * as v from 'valibot';
import { explain, section } from './config-checks.ts';

const https = explain('must be an https URL without a slash at the end, such as https://login.your-domain.example');
const text = explain('must be a text');
const domainPrefix = explain('must be 1 to 63 of a-z, 0-9 and -, without aws, amazon or cognito');
const words = v.array(v.pipe(v.string(), v.regex(/^[^\s,[\]]+$/)), explain('must be a list of words'));
const signIn = {
  roleClaim: v.exactOptional(v.pipe(v.string(text), v.minLength(1, text))),
  operators: v.optional(words, ['operator']),
  viewers: v.optional(words, ['viewer']),
};
const scope = explain('must be scopes separated by single spaces, openid among them');
const consoleOff = explain('must be off, or an object with issuer and clientId, or with cognito');
/** How people reach the deployed console: not at all, by an OIDC issuer, or by a user pool of the stack. */
export const CONSOLE = v.union(
  [
    v.literal('off'),
    section({
      issuer: v.pipe(v.string(https), v.regex(/^https:\/\/[^\s?#]+[^\s?#/]$/, https)),
      clientId: v.pipe(v.string(text), v.minLength(1, text)),
      scope: v.exactOptional(
        v.pipe(
          v.string(scope),
          v.regex(/^(?=.*\bopenid\b)[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/, scope),
        ),
      ),
      ...signIn,
    }),
    section({
      cognito: section({
        domainPrefix: v.pipe(
          v.string(domainPrefix),
          v.regex(/^(?!.*(?:aws|amazon|cognito))[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, domainPrefix),
        ),
      }),
      ...signIn,
    }),
  ],
  consoleOff,
);
