import { join } from 'node:path';
import { bundle } from './bundle.ts';

/** Both packages contain the producer client and the client for web pages. */
export const CLIENT_TYPES = {
  entries: ['src/client/index.ts', 'src/client/browser/index.ts'],
  root: 'src',
  browser: true,
} as const;

/** Builds `browser.js`: one module without dependencies. @returns the files that went into it */
export function bundleBrowserClient(directory: string): Promise<string[]> {
  return bundle('src/client/browser/index.ts', join(directory, 'browser.js'), {
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    minify: true,
  });
}
