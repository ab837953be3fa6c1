import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../project-root.ts';

export interface Packed {
  readonly tarball: string;
  /** Paths of the tarball's files. */
  readonly files: readonly string[];
}

/** Runs `npm pack` on a built package. */
export function pack(built: string, destination: string): Packed {
  const json = npm(built, 'pack', '--json', '--pack-destination', destination);
  const [{ filename, files }]: [{ filename: string; files: { path: string }[] }] = JSON.parse(json);
  return { tarball: join(destination, filename), files: files.map(({ path }) => path) };
}

/** The project's peers and tools are links into the repository, so that the installation needs no network. */
const LINKED = ['aws-cdk-lib', 'constructs', 'typescript', '@types/node', 'undici-types'];

/** An empty project with the packed package installed, and links to the other packages of a CDK app. */
export function emptyProject(tarball: string): string {
  const project = mkdtempSync(join(tmpdir(), 'cdk-app-'));
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n');
  npm(project, 'install', '--offline', '--legacy-peer-deps', '--no-audit', '--no-fund', tarball);
  for (const name of LINKED) {
    const link = join(project, 'node_modules', name);
    mkdirSync(join(link, '..'), { recursive: true });
    symlinkSync(join(PROJECT_ROOT, 'node_modules', name), link);
  }
  return project;
}

function npm(cwd: string, ...args: string[]): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: 'pipe', shell: process.platform === 'win32' });
}
