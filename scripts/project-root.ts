import { join } from 'node:path';

/** The repository's folder. */
export const PROJECT_ROOT = join(import.meta.dirname, '..');
