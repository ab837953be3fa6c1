import { type ConsoleBinding, consoleDeps } from './deps.ts';
import { createDispatch } from './http/dispatch.ts';
import { actionRoutes } from './routes/actions.ts';
import { auditRoutes } from './routes/audit.ts';
import { deadLetterRoutes } from './routes/dead-letters.ts';
import { notificationRoutes } from './routes/notifications.ts';
import { overviewRoutes } from './routes/overview.ts';
import { sessionRoutes } from './routes/session.ts';

export interface ConsoleOptions extends ConsoleBinding {
  /** Takes what failed on our side; the answer does not say more. */
  readonly onFault: (error: unknown, route: string) => void;
}

/** All routes on a deployment: behind the loopback server and the deployed function alike. */
export function createConsole({ onFault, ...binding }: ConsoleOptions) {
  const deps = consoleDeps(binding);
  const routes = {
    ...sessionRoutes(deps),
    ...overviewRoutes(deps),
    ...notificationRoutes(deps),
    ...deadLetterRoutes(deps),
    ...actionRoutes(deps),
    ...auditRoutes(deps),
  };
  return createDispatch(routes, { onFault, local: binding.local });
}
