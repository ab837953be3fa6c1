import { type ConsoleBinding, type ConsoleDeps, consoleDeps } from './deps.ts';
import { createDispatch } from './http/dispatch.ts';
import { createOperationRunner } from './operation-runner.ts';
import { actionRoutes } from './routes/actions.ts';
import { auditRoutes } from './routes/audit.ts';
import { deadLetterRoutes } from './routes/dead-letters.ts';
import { keyRoutes } from './routes/keys.ts';
import { newsletterRoutes } from './routes/newsletters.ts';
import { notificationRoutes } from './routes/notifications.ts';
import { operationRoutes } from './routes/operations.ts';
import { overviewRoutes } from './routes/overview.ts';
import { sessionRoutes } from './routes/session.ts';

export interface ConsoleOptions extends ConsoleBinding {
  /** Takes what failed on our side; the answer does not say more. */
  readonly onFault: (error: unknown, route: string) => void;
}

/** What makes a process run an operation: this one, or a function that a message starts. */
export type Kick = (operation_id: string) => Promise<void>;

/** All routes on a deployment: behind the loopback server and the deployed function alike. */
export function createConsole(options: ConsoleOptions, kick: Kick) {
  const { onFault, ...binding } = options;
  return createDispatch(consoleRoutes(consoleDeps(binding), kick), { onFault, local: binding.local });
}

/** Each route of the contract. */
export function consoleRoutes(deps: ConsoleDeps, kick: Kick) {
  return {
    ...sessionRoutes(deps),
    ...overviewRoutes(deps),
    ...notificationRoutes(deps),
    ...deadLetterRoutes(deps),
    ...actionRoutes(deps),
    ...auditRoutes(deps),
    ...operationRoutes({ ...deps, kick }),
    ...newsletterRoutes(deps),
    ...keyRoutes(deps),
  };
}

/** The routes with a runner of their operations in this process: for loopback, where no function runs them. */
export function createOwnConsole(options: ConsoleOptions) {
  const runner = createOperationRunner(consoleDeps(options), options.onFault);
  return { dispatch: createConsole(options, runner.kick), resume: runner.resume, stop: runner.stop };
}
