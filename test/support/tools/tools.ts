import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { PROJECT_ROOT } from '../project-root.ts';

const TOOLS = join(PROJECT_ROOT, '.local', 'tools');

/** Where tools/third-party/install.sh puts the commands of its Python packages. */
export const PYTHON_COMMANDS = join(TOOLS, 'python', 'bin');
/** Where it puts npm packages that are no dependencies of ours. */
export const NODE_TOOLS = join(TOOLS, 'node', 'node_modules');
/** Where it puts programs that it builds from Go modules. */
export const GO_COMMANDS = join(TOOLS, 'bin');
/** The library's jars, and our program that asks it. */
export const EVENT_RULER = join(TOOLS, 'event-ruler');

/**
 * Whether the tests of an installed tool run. One line says why they are skipped.
 * @param runtime a command without which the tool cannot be installed: its tests are then skipped
 * @throws Error if only the tool is missing
 */
export function hasTool(name: string, path: string, runtime?: string): boolean {
  if (existsSync(path)) return true;
  if (runtime !== undefined && !isInPath(runtime)) {
    process.stdout.write(`Tests with ${name} are skipped: there is no \`${runtime}\` in the PATH\n`);
    return false;
  }
  throw new Error(`${name} is not installed: run npm run tools:install`);
}

function isInPath(command: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, command)));
}
