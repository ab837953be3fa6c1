import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PROJECT_ROOT } from '../project-root.ts';

/** An earlier commit of this project with its dependencies, and the app as it synthesizes it. */
export interface FormerVersion {
  readonly root: string;
  readonly assembly: string;
}

/** Takes the commit out of the history, once; later runs find it in `.local/former`. */
export async function formerVersion(commit: string): Promise<FormerVersion> {
  const root = join(PROJECT_ROOT, '.local', 'former', commit);
  if (!existsSync(root)) {
    const partial = `${root}.partial`;
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial, { recursive: true });
    const archive = execFileSync('git', ['archive', commit], { cwd: PROJECT_ROOT, maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x', '-C', partial], { input: archive });
    install(partial);
    renameSync(partial, root);
  }
  const path = pathToFileURL(join(root, 'src', 'local', 'runtime', 'synthesize.ts')).href;
  const { synthesize } = (await import(path)) as { synthesize: (workDir: string) => Promise<string> };
  return { root, assembly: await synthesize(join(root, '.local')) };
}

/** The same dependencies need no second installation. */
function install(root: string): void {
  const lock = (of: string) => readFileSync(join(of, 'package-lock.json'), 'utf8');
  if (lock(root) === lock(PROJECT_ROOT)) symlinkSync(join(PROJECT_ROOT, 'node_modules'), join(root, 'node_modules'));
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, stdio: 'inherit' });
}
