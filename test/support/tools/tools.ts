import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../project-root.ts';

const TOOLS = join(PROJECT_ROOT, '.local', 'tools');

/** Where scripts/tools/install.sh puts the commands of its Python packages. */
export const PYTHON_COMMANDS = join(TOOLS, 'python', 'bin');
/** The library's jars, and our program that asks it. */
export const EVENT_RULER = join(TOOLS, 'event-ruler');

/** Set by `npm run test:tools`: a tool that is missing then fails the run instead of skipping its tests. */
const REQUIRED = Boolean(process.env['WITH_TOOLS']);

/** Whether the tests of an installed tool run. One line says why they are skipped. */
export function hasTool(name: string, path: string): boolean {
  if (existsSync(path)) return true;
  if (REQUIRED) throw new Error(`${name} is not installed: run npm run tools:install`);
  process.stdout.write(`Tests with ${name} are skipped: npm run tools:install installs it into .local/tools\n`);
  return false;
}
