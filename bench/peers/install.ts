import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const WANTED = join(import.meta.dirname, 'tools.json');
/** Outside the project's dependencies: only this benchmark uses them. */
export const TOOLS = join(import.meta.dirname, '..', '..', '.local', 'tools', 'peers');

/** Installs the peers in the versions of tools.json, once. */
export function installPeers(): void {
  const wanted = readFileSync(WANTED, 'utf8');
  const manifest = join(TOOLS, 'package.json');
  const installed = join(TOOLS, 'installed.json');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === wanted) return;
  mkdirSync(TOOLS, { recursive: true });
  writeFileSync(manifest, wanted);
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: TOOLS, stdio: 'inherit' });
  writeFileSync(installed, wanted);
}
