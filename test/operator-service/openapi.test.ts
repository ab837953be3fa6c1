import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleRoutes } from '../../src/operator-service/console.ts';
import type { RouteKey } from '../../src/operator-service/contract/routes.ts';
import { operatorDeps } from '../../src/operator-service/deps.ts';
import { ANSWERS } from '../../src/operator-service/openapi/answer-schemas.ts';
import { consoleDocument } from '../../src/operator-service/openapi/document.ts';
import type { AnyRoute } from '../../src/operator-service/route.ts';
import { type Operations, startOperations } from '../support/cli/operations.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

let ops: Operations;
let routes: Readonly<Record<RouteKey, AnyRoute>>;
beforeAll(async () => {
  ops = await startOperations();
  const binding = {
    ...ops,
    clock: () => new Date(),
    newId: randomUUID,
    stage: 'test',
    region: 'us-east-1',
    local: true,
    onRecord: () => {},
  };
  routes = consoleRoutes(operatorDeps(binding), async () => {}) as Readonly<Record<RouteKey, AnyRoute>>;
}, 60_000);
afterAll(() => ops?.stop());

describe('the OpenAPI document of the console', () => {
  it('has exactly the routes that the server answers', () => {
    expect(Object.keys(routes).sort()).toEqual(Object.keys(ANSWERS).sort());
    const { paths } = consoleDocument(routes) as { paths: Readonly<Record<string, object>> };
    const documented = Object.entries(paths).flatMap(([path, of]) =>
      Object.keys(of).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented.sort()).toEqual(Object.keys(routes).sort());
  });

  it('is valid OpenAPI 3.1', async () => {
    const document = JSON.parse(JSON.stringify(consoleDocument(routes)));
    expect(await new Validator().validate(document)).toEqual({ valid: true });
  });

  it('is the one in docs/reference; after a change of the routes, `npx vitest run test/operator-service/openapi.test.ts -u` writes it', async () => {
    const file = join(PROJECT_ROOT, 'docs', 'reference', 'console-api.json');
    await expect(`${JSON.stringify(consoleDocument(routes), undefined, 2)}\n`).toMatchFileSnapshot(file);
  });
});
