import { join } from 'node:path';

export const PROJECT_ROOT = join(import.meta.dirname, '..', '..', '..');

/** Where the runtime keeps what it makes: the synthesized app, logs, the endpoints file. Git ignores it. */
export const DEFAULT_WORK_DIR = join(PROJECT_ROOT, '.local');

/** Where clients look for a running runtime (design §8). */
export function endpointsFile(workDir: string): string {
  return join(workDir, 'endpoints.json');
}
