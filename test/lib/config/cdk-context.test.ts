import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECT_ROOT } from '../../support/project-root.ts';

it('cdk.json has no reserved context keys, of which the CLI warns on every call', () => {
  const { context } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'cdk.json'), 'utf8'));
  expect(Object.keys(context)).toContain('notification-retry');
  expect(Object.keys(context).filter((key) => /^(aws|cdk):/.test(key))).toEqual([]);
});
