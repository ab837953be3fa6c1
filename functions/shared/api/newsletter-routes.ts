import * as v from 'valibot';
import { NEWSLETTER_ROUTES } from '../../../src/application/contract/api/newsletter-routes.ts';
import { newsletterId } from '../../../src/application/contract/api/newsletters.ts';
import { fromCursor, toCursor } from '../../../src/application/cursor.ts';
import { decideNewsletter, shownNewsletter } from '../../../src/application/newsletters.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import type { NewsletterStore } from '../../../src/core/newsletter/model/ports.ts';
import { done, type ServedRoute, serve } from './api-function.ts';

export interface NewsletterRouteDeps {
  readonly newsletters: NewsletterStore;
  readonly clock: Clock;
}

/** The routes by which a tenant sets up its newsletters. */
export function newsletterRoutes(deps: NewsletterRouteDeps): ServedRoute[] {
  const { newsletters } = deps;
  return serve(NEWSLETTER_ROUTES, {
    async listNewsletters({ caller: { tenant_id }, query }) {
      const { cursor, limit } = query();
      const most = Number(limit);
      const found = await newsletters.list(tenant_id, { after: fromCursor(newsletterId, cursor), limit: most + 1 });
      const page = found.slice(0, most);
      const next_cursor = toCursor(found.length > most ? page.at(-1)?.newsletter_id : undefined);
      return { body: { newsletters: page.map(shownNewsletter), next_cursor }, log: { items: page.length } };
    },
    async putNewsletter({ caller: { tenant_id: tenant }, path: { newsletter_id = '' }, body }) {
      const stored = await done(decideNewsletter({ tenant, newsletter_id }, body(), deps));
      return { body: shownNewsletter(stored), log: { newsletter_id } };
    },
    async getNewsletter({ caller: { tenant_id }, path: { newsletter_id = '' } }) {
      const found = v.is(newsletterId, newsletter_id) ? await newsletters.read(tenant_id, newsletter_id) : undefined;
      if (found === undefined)
        throw new Problem('not-found', 'There is no newsletter with this id: see GET /v1/newsletters.');
      return { body: shownNewsletter(found), log: { newsletter_id } };
    },
  });
}
