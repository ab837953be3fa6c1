import { readFile } from 'node:fs/promises';
import { extname, join, normalize, sep } from 'node:path';

export interface StaticFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
};

/** Names of built assets contain the hash of their content. */
const HASHED = /^\/assets\//;

/** Below a screen lies an id, and an id may look like the name of a file. */
const BELOW_A_SCREEN = /^\/(?!assets\/)[^/]+\//;

/**
 * The file for a path of the page. A path without an extension, or below a screen, is a route of the page itself:
 * index.html.
 * @returns undefined when there is no such file
 */
export async function staticFile(directory: string, path: string): Promise<StaticFile | undefined> {
  const isRoute = extname(path) === '' || BELOW_A_SCREEN.test(path);
  const name = isRoute ? '/index.html' : decoded(path);
  const file = normalize(join(directory, name));
  if (!file.startsWith(directory + sep)) return undefined;
  const body = await readFile(file).catch(() => undefined);
  if (body === undefined)
    return name === '/index.html' ? { headers: headersOf('.html', path), body: NOT_BUILT } : undefined;
  return { headers: headersOf(extname(name), path), body };
}

function headersOf(extension: string, path: string): Readonly<Record<string, string>> {
  return {
    'content-type': TYPES[extension] ?? 'application/octet-stream',
    'cache-control': HASHED.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
  };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const NOT_BUILT = `<!doctype html><html lang="en"><meta charset="utf-8"><title>notification-retry</title>
<p>The page is not built here. Its routes answer: <a href="/api/overview">/api/overview</a>.</p></html>`;
