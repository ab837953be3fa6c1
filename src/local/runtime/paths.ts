import { join } from 'node:path';

export const PROJECT_ROOT = join(import.meta.dirname, '..', '..', '..');

/** Directory of the synthesized app, the logs and the endpoints file. Git ignores it. */
export const DEFAULT_WORK_DIR = join(PROJECT_ROOT, '.local');

/** The file in which clients look for a running runtime. */
export function endpointsFile(workDir: string): string {
  return join(workDir, 'endpoints.json');
}
