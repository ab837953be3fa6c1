import * as v from 'valibot';
import { Problem } from '../core/model/problem.ts';
import type { AuditDeps } from '../core/operator/audit/audit.ts';
import { check } from '../http/check.ts';
import { createKernel, type Given, type Route } from '../http/kernel.ts';
import { decideOnce } from './audit.ts';
import { id } from './contract/fields.ts';
import { type OperatorBinding, operatorDeps } from './deps.ts';
import { type EmailAccess, emailAccess } from './emails.ts';
import { createHealth, createOverview } from './overview.ts';
import { problemBody } from './refusals.ts';
import type { AnyRoute, Caller, RouteDeps } from './route.ts';
import { CONSOLE_ROUTES } from './routes.ts';

export interface ConsoleOptions extends OperatorBinding {
  /** Takes what failed on our side; the answer does not say more. */
  readonly onFault: (error: unknown, route: string) => void;
}

/** All routes on a deployment: behind the loopback server and the deployed function alike. */
export function createConsole(
  { onFault, ...binding }: ConsoleOptions,
  startRun: RouteDeps['startRun'],
  routes: readonly AnyRoute[] = CONSOLE_ROUTES,
) {
  const { clock, local } = binding;
  const deps = operatorDeps(binding);
  let made: EmailAccess | undefined;
  const email = () => {
    made ??= emailAccess(deps);
    return made;
  };
  const shared = { ...deps, startRun, overview: createOverview(deps), health: createHealth(deps), email };
  return createKernel<Caller, Caller, ReturnType<typeof served>>(
    routes.map((route) =>
      served(route, shared, { ...shared, onUnwritten: (error) => onFault(error, `audit of ${route.key}`) }),
    ),
    {
      clock,
      noSuchPath: 'The console has no such path, or the path has no such method.',
      admit({ role }, { caller }) {
        if (role === 'viewer' || caller.role === 'operator') return caller;
        throw new Problem('forbidden', 'Only operators may do this; you are a viewer.');
      },
      refusal: (problem, { key, path }) =>
        problemBody(
          problem,
          local,
          routes.find((route) => route.key === key),
          path,
        ),
      failed: 'The request failed on our side. Try it again.',
      onFault: (error, _, key) => onFault(error, key),
      etag: true,
      charset: '; charset=utf-8',
    },
  );
}

/** Longer than DynamoDB takes as a key, it would fail on our side. */
const PATH = v.record(v.string(), id);

/** The route for the kernel: its query or body is checked, its decision made once and audited. */
function served(
  { key, role, takes, max_bytes, handle }: AnyRoute,
  deps: RouteDeps,
  audit: AuditDeps,
): Route<Caller> & Pick<AnyRoute, 'role'> {
  const isRead = key.startsWith('GET ');
  return {
    key,
    role,
    ...(isRead ? { query: takes } : { body: takes }),
    ...(max_bytes !== undefined && { max_bytes }),
    async handle({ caller, path, ...given }: Given<Caller, never, never>) {
      const input = isRead ? given.query() : given.body();
      const asked = { caller, path: check(PATH, path), input };
      const answer = await handle({ ...asked, decide: decideOnce(key, asked, audit) }, deps);
      return { body: answer as object };
    },
  };
}
