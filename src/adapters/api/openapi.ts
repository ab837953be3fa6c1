import { SCOPES } from '../api-keys/api-key.ts';
import { schemas } from './openapi-components.ts';
import { paths } from './openapi-paths.ts';

type Json = Readonly<Record<string, unknown>>;

/** The document at /v1/openapi.json. It is made from the same schemas that validate requests. */
export function openApiDocument(): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'notification-retry',
      version: '1.0.0',
      summary: 'Accepts notifications and retries them until they are delivered, exhausted or pointless.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ api_key: [] }],
    tags: [
      ...SCOPES.map((name) => ({ name, description: `Needs a key with the scope ${name}` })),
      { name: 'tokens', description: 'Needs a key with the scopes of what the token may do' },
    ],
    paths: paths(),
    components: {
      securitySchemes: { api_key: { type: 'http', scheme: 'bearer', bearerFormat: 'nrk_<key_id>_<secret>' } },
      schemas: schemas(),
    },
  };
}
