import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';

/**
 * Installs packages that are no dependencies of the project into `.local/tools/NAME`, once per version.
 * @param manifest a package.json
 * @returns the folder
 */
export function installPackages(name: string, manifest: string): string {
  const folder = join(PROJECT_ROOT, '.local', 'tools', name);
  const wanted = readFileSync(manifest, 'utf8');
  const installed = join(folder, 'installed.json');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === wanted) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), wanted);
  // What they want beside them is the project's own.
  const options = ['--no-audit', '--no-fund', '--loglevel=error', '--legacy-peer-deps'];
  execFileSync('npm', ['install', ...options], { cwd: folder, stdio: 'inherit' });
  writeFileSync(installed, wanted);
  return folder;
}
