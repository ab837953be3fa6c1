import * as v from 'valibot';
import { newsletterId, newsletterSchema } from '../../../src/adapters/api/newsletter-schemas.ts';
import { check } from '../../../src/adapters/api/read-request.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import type { Newsletter } from '../../../src/core/newsletter/model/newsletter.ts';
import type { NewsletterStore } from '../../../src/core/newsletter/model/ports.ts';
import type { ApiAnswer, ApiRequest, Routes } from './api-function.ts';

export interface NewsletterRouteDeps {
  readonly newsletters: NewsletterStore;
  readonly clock: Clock;
}

const MAX_BYTES = 16 * 1024;

/** The routes by which a tenant sets up its newsletters. */
export function newsletterRoutes({ newsletters, clock }: NewsletterRouteDeps): Routes {
  async function put({ caller: { tenant_id }, path, json }: ApiRequest): Promise<ApiAnswer> {
    const newsletter_id = idIn(path);
    const now = clock().toISOString();
    const given = Object.entries(check(newsletterSchema, json())).filter(([, value]) => value !== undefined);
    const fields = Object.fromEntries(given) as Omit<
      Newsletter,
      'tenant_id' | 'newsletter_id' | 'created_at' | 'updated_at'
    >;
    const stored = await newsletters.put({ ...fields, tenant_id, newsletter_id, created_at: now, updated_at: now });
    return { status: 200, body: shown(stored), log: { newsletter_id } };
  }

  async function show({ caller: { tenant_id }, path }: ApiRequest): Promise<ApiAnswer> {
    const { newsletter_id = '' } = path;
    const found = v.is(newsletterId, newsletter_id) ? await newsletters.read(tenant_id, newsletter_id) : undefined;
    if (found === undefined)
      throw new Problem('not-found', 'There is no newsletter with this id: see GET /v1/newsletters.');
    return { status: 200, body: shown(found), log: { newsletter_id } };
  }

  async function list({ caller: { tenant_id } }: ApiRequest): Promise<ApiAnswer> {
    const found = await newsletters.list(tenant_id);
    return { status: 200, body: { newsletters: found.map(shown) }, log: { items: found.length } };
  }

  return {
    'PUT /v1/newsletters/{newsletter_id}': { scope: 'newsletters:write', max_bytes: MAX_BYTES, handle: put },
    'GET /v1/newsletters/{newsletter_id}': { scope: 'newsletters:read', max_bytes: MAX_BYTES, handle: show },
    'GET /v1/newsletters': { scope: 'newsletters:read', max_bytes: MAX_BYTES, handle: list },
  };
}

/** @throws Problem */
function idIn({ newsletter_id = '' }: ApiRequest['path']): string {
  return check(v.object({ newsletter_id: newsletterId }), { newsletter_id }).newsletter_id;
}

function shown({ tenant_id: _, ...newsletter }: Newsletter) {
  return newsletter;
}
