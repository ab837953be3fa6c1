import * as v from 'valibot';
import { check, explain, listOf, matching, sectionOf } from './config-checks.ts';
import type { Given, Settings, Values } from './setting-types.ts';

const https = explain('must be an https URL, such as https://login.your-domain.example');
const text = explain('must be a text');
const domainPrefix = explain('must be 1 to 63 of a-z, 0-9 and -, without aws, amazon or cognito');
const words = listOf(matching(/^[^\s,[\]]+$/, explain('must be a word')), 'words', 250);
const some = check(v.pipe(v.string(text), v.minLength(1, text)));
const scope = explain('must be scopes separated by single spaces, openid among them');

/** What makes somebody who signed in an operator or a viewer. */
const ROLES = {
  /** The claim of the access token that names groups or roles. Absent: `cognito:groups`, or `groups` of an issuer. */
  roleClaim: { check: some },
  /** Values of the claim that make an operator; `operator`. */
  operators: { check: words, standard: ['operator'] },
  /** Values of the claim that make a viewer; `viewer`. Who has neither gets nothing. */
  viewers: { check: words, standard: ['viewer'] },
} as const satisfies Settings;

const ISSUER = {
  /** An OIDC issuer, letter by letter as the claim `iss` names it: some end with a slash. */
  issuer: { check: check(matching(/^https:\/\/[^\s?#/]+(?:\/[^\s?#]*)?$/, https)), required: true },
  /** The public client (PKCE, no secret) that the issuer knows the console as; the audience of its tokens. */
  clientId: { check: some, required: true },
  /** What the page asks for; `openid email profile`. Some issuers renew tokens only with `offline_access`. */
  scope: {
    check: check(matching(/^(?=.*\bopenid\b)[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/, scope)),
  },
  ...ROLES,
} as const satisfies Settings;

const COGNITO = {
  /** A user pool that the stack makes. */
  cognito: {
    section: {
      /** Of the address of the sign-in page, `<prefix>.auth.<region>.amazoncognito.com`; unique in the region. */
      domainPrefix: {
        check: check(matching(/^(?!.*(?:aws|amazon|cognito))[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, domainPrefix)),
        required: true,
      },
    },
    required: true,
  },
  ...ROLES,
} as const satisfies Settings;

/** How people sign in to the console, and what makes one of them an operator. */
export type ConsoleSettings = Values<typeof ISSUER> | Values<typeof COGNITO>;
type ConsoleInput = Given<typeof ISSUER> | Given<typeof COGNITO>;

/** How people reach the deployed console: not at all, by an OIDC issuer, or by a user pool of the stack. */
export const CONSOLE = check(
  v.union(
    [v.literal('off'), sectionOf(ISSUER), sectionOf(COGNITO)],
    explain('must be off, or an object with issuer and clientId, or with cognito'),
  ) as v.GenericSchema<'off' | ConsoleInput, 'off' | ConsoleSettings>,
);
