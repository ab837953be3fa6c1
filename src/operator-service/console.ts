import { Problem } from '../core/model/problem.ts';
import { createKernel, type Given, type Route } from '../http/kernel.ts';
import { needsOperator } from './contract/routes.ts';
import { type OperatorBinding, type OperatorDeps, operatorDeps } from './deps.ts';
import { problemBody } from './refusals.ts';
import type { AnyRoute, Caller } from './route.ts';
import { actionRoutes } from './routes/actions.ts';
import { auditRoutes } from './routes/audit.ts';
import { deadLetterRoutes } from './routes/dead-letters.ts';
import { keyRoutes } from './routes/keys.ts';
import { newsletterRoutes } from './routes/newsletters.ts';
import { notificationRoutes } from './routes/notifications.ts';
import { operationRoutes } from './routes/operations.ts';
import { overviewRoutes } from './routes/overview.ts';
import { sessionRoutes } from './routes/session.ts';

export interface ConsoleOptions extends OperatorBinding {
  /** Takes what failed on our side; the answer does not say more. */
  readonly onFault: (error: unknown, route: string) => void;
}

/** What makes a process run an operation: this one, or a function that a message starts. */
export type StartRun = (operation_id: string) => Promise<void>;

/** All routes on a deployment: behind the loopback server and the deployed function alike. */
export function createConsole(options: ConsoleOptions, startRun: StartRun) {
  const { onFault, ...binding } = options;
  const { clock, local } = binding;
  const routes = Object.entries(consoleRoutes(operatorDeps(binding), startRun)).map(asRoute);
  return createKernel<Caller, Caller, Route<Caller>>(routes, {
    clock,
    noSuchPath: 'The console has no such path, or the path has no such method.',
    admit({ key }, { caller }) {
      if (!needsOperator(key) || caller.role === 'operator') return caller;
      throw new Problem('forbidden', 'Only operators may do this; you are a viewer.');
    },
    refusal: (problem, { key, path }) => problemBody(problem, key, local, path),
    failed: 'The request failed on our side. Try it again.',
    onFault: (error, _, key) => onFault(error, key),
    etag: true,
    charset: '; charset=utf-8',
  });
}

/** The query of a GET and the body of a POST are what a route takes. */
function asRoute([key, { schema, handle }]: [string, AnyRoute]): Route<Caller> {
  const isRead = key.startsWith('GET ');
  return {
    key,
    ...(isRead ? { query: schema } : { body: schema }),
    async handle({ caller, path, query, body }: Given<Caller, never, never>) {
      return { body: await handle({ caller, path, input: isRead ? query() : body() }) };
    },
  };
}

/** Each route of the contract. */
export function consoleRoutes(deps: OperatorDeps, startRun: StartRun) {
  return {
    ...sessionRoutes(deps),
    ...overviewRoutes(deps),
    ...notificationRoutes(deps),
    ...deadLetterRoutes(deps),
    ...actionRoutes(deps),
    ...auditRoutes(deps),
    ...operationRoutes({ ...deps, startRun }),
    ...newsletterRoutes(deps),
    ...keyRoutes(deps),
  };
}
