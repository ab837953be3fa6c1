import type { ConsoleOptions } from '../operator-service/console.ts';
import { createOwnConsole } from '../operator-service/operation-runner.ts';
import { userOfMachine } from '../processes/process-identity.ts';
import { serveConsole } from './serve-console.ts';

export interface OpenOptions extends ConsoleOptions {
  /** The directory of the built page. */
  readonly page: string;
  /** 0: any free port. */
  readonly port: number;
  /** Who acts; the user of this machine unless given. */
  readonly who?: string;
  /** Whether a browser needs the token of the URL's fragment. */
  readonly token: boolean;
}

/** Serves page and routes on loopback for the user of this machine, and goes on with the bulk operations of others that stopped. */
export async function openConsole({ page, port, token, who = userOfMachine(), ...options }: OpenOptions) {
  const own = createOwnConsole(options);
  const { local } = options;
  const caller = { who, role: 'operator' } as const;
  const served = await serveConsole({ dispatch: own.dispatch, page, port, caller, token, local });
  return {
    url: served.url,
    resume: own.resume,
    async close(): Promise<void> {
      await served.close();
      await own.stop();
    },
  };
}
