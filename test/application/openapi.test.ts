import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { CONSOLE_ROUTES } from '../../src/application/routes.ts';
import { consoleDocument } from '../support/docs/console-document.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

describe('the OpenAPI document of the console', () => {
  it('has exactly the routes that the server answers', () => {
    const { paths } = consoleDocument(CONSOLE_ROUTES) as { paths: Readonly<Record<string, object>> };
    const documented = Object.entries(paths).flatMap(([path, of]) =>
      Object.keys(of).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented.sort()).toEqual(CONSOLE_ROUTES.map(({ key }) => key).sort());
  });

  it('is valid OpenAPI 3.1', async () => {
    const document = JSON.parse(JSON.stringify(consoleDocument(CONSOLE_ROUTES)));
    expect(await new Validator().validate(document)).toEqual({ valid: true });
  });

  it('is the one in docs/reference; after a change of the routes, `npx vitest run test/application/openapi.test.ts -u` writes it', async () => {
    const file = join(PROJECT_ROOT, 'docs', 'reference', 'console-api.json');
    await expect(`${JSON.stringify(consoleDocument(CONSOLE_ROUTES), undefined, 2)}\n`).toMatchFileSnapshot(file);
  });
});
