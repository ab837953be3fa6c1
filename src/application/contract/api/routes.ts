import { EMAIL_ROUTES, MEMBER_ROUTES, NEWSLETTER_ROUTES } from './newsletter-routes.ts';
import { INTAKE_ROUTES, NOTIFICATION_ROUTES, TOKEN_ROUTES } from './notification-routes.ts';
import type { ApiRoute, ApiRoutes } from './route.ts';

/** By the function that serves them: `functions/api-<name>`. */
const BY_FUNCTION = {
  intake: INTAKE_ROUTES,
  notifications: NOTIFICATION_ROUTES,
  tokens: TOKEN_ROUTES,
  newsletters: { ...NEWSLETTER_ROUTES, ...MEMBER_ROUTES },
  emails: EMAIL_ROUTES,
} as const satisfies Readonly<Record<string, ApiRoutes>>;

export interface PublicRoute extends ApiRoute {
  readonly operation_id: string;
  readonly served_by: keyof typeof BY_FUNCTION;
}

/** Every route of the API. */
export const API_ROUTES: readonly PublicRoute[] = Object.entries<ApiRoutes>(BY_FUNCTION).flatMap(
  ([served_by, routes]) =>
    Object.entries(routes).map(([operation_id, route]) => ({
      ...route,
      operation_id,
      served_by: served_by as keyof typeof BY_FUNCTION,
    })),
);
