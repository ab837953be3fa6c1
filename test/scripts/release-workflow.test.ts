import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/project-root.ts';

const text = readFileSync(join(PROJECT_ROOT, '.github/workflows/release.yml'), 'utf8');
const jobs = Object.fromEntries(
  text
    .slice(text.indexOf('\njobs:'))
    .split(/\n(?= {2}\w+:\n)/)
    .slice(1)
    .map((job) => [/^ {2}(\w+):/.exec(job)?.[1] ?? '', job]),
);

it('publishes what another job has built, by the word of a maintainer and without a token', () => {
  const { publish = '', build = '', test = '' } = jobs;
  expect(publish).toMatch(/\n {4}environment: npm\n/);
  expect(publish).toContain('id-token: write');
  // Nothing that could run code of ours or of others.
  expect(publish).not.toMatch(/checkout@|npm (ci|install|run|test)/);
  expect(publish.match(/npm publish .*/g)).toHaveLength(2);
  for (const line of publish.match(/npm publish .*/g) ?? []) expect(line).toContain('--ignore-scripts');
  for (const job of [build, test]) expect(job).not.toMatch(/id-token|environment:|npm publish/);
  expect(text).not.toMatch(/secrets\.|NODE_AUTH_TOKEN/);
});

it('builds with the Node of setup-node, and runs no script of a dependency', () => {
  const { build = '' } = jobs;
  expect(build).toContain('npm ci --ignore-scripts');
  expect(build.indexOf('rm -rf node_modules/node ')).toBeLessThan(build.indexOf('npm run build:package'));
});

it('installs the tools of the tests by the hashes of their files', () => {
  const read = (name: string) => readFileSync(join(PROJECT_ROOT, 'tools/third-party', name), 'utf8');
  for (const line of read('install.sh').match(/pip" install.*/g) ?? ['none'])
    expect(line).toContain('--require-hashes');
  for (const line of read('install.sh').match(/npm ci .*/g) ?? ['none']) expect(line).toContain('--ignore-scripts');
  for (const package_ of read('requirements.txt')
    .split(/\n(?=\w)/)
    .slice(1))
    expect(package_).toContain('--hash=sha256:');
});
