import { join } from 'node:path';

/** The repository's folder, wherever a test stands in it. */
export const PROJECT_ROOT = join(import.meta.dirname, '..', '..');
