import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildConsole } from '../../console/build.ts';

/** Script and style together, compressed. */
const BUDGET_BYTES = 120 * 1024;

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'console-'));
  buildConsole(directory);
});
const assets = () => readdirSync(join(directory, 'assets')).map((name) => join(directory, 'assets', name));
const page = () => readFileSync(join(directory, 'index.html'), 'utf8');

describe('the built page', () => {
  it('has at most 120 KB of script and style, compressed', () => {
    const files = assets().filter((name) => /\.(js|css)$/.test(name));
    expect(files).toHaveLength(2);
    const bytes = files.reduce((sum, name) => sum + gzipSync(readFileSync(name)).length, 0);
    expect(bytes).toBeLessThanOrEqual(BUDGET_BYTES);
  });

  it('names every asset by its content, and nothing of another origin', () => {
    const linked = [...page().matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = '']) => url);
    expect(linked.map((url) => join(directory, url)).sort()).toEqual(assets().sort());
    for (const url of linked) expect(url).toMatch(/^\/assets\/console-[0-9a-f]{12}\.(js|css|svg)$/);
  });

  it('runs under a policy that allows no inline script and no inline style', () => {
    expect(page()).not.toMatch(/<style|style=|<script(?![^>]*\ssrc=)|\son\w+=/);
  });

  it('is the same when it is built again, and keeps what an open page may still load', () => {
    const before = assets();
    buildConsole(directory);
    expect(assets()).toEqual(before);
  });
});
