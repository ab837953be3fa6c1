import { createContext } from 'preact';
import type { SessionView } from '../../src/application/contract/overview.ts';

/** Until the session is known nothing may be changed. */
const UNKNOWN_SESSION: SessionView = {
  who: '',
  role: 'viewer',
  stage: '',
  region: '',
  local: false,
  poll_ms: 5_000,
};

export const SessionContext = createContext<SessionView>(UNKNOWN_SESSION);

/** The line for the shell with what this console's session needs. */
export function opsCommand(command: string, { local }: SessionView): string {
  return `npm run ops -- ${command}${local ? ' --local' : ''}`;
}

export type SignIn =
  | { readonly state: 'in' }
  /** The browser is on its way to the issuer. */
  | { readonly state: 'leaving' }
  | SignedOut;

export interface SignedOut {
  readonly state: 'out';
  readonly why: string;
  readonly remedy: string;
  /** Leaves for the issuer; absent where only a new link signs in. */
  readonly again?: () => void;
}
