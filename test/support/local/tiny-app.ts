import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A temporary directory. `remove` deletes it. */
export function scratch(): { readonly path: string; readonly remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'local-runtime-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }) };
}

/** Writes a bundle as a function's asset: `source` is the text of an ES module that exports `handler`. */
export function writeBundle(directory: string, name: string, source: string): string {
  const asset = `asset.${name}`;
  mkdirSync(join(directory, asset), { recursive: true });
  writeFileSync(join(directory, asset, 'index.mjs'), source);
  return asset;
}

/** Writes a cloud assembly with one stack, as `cdk synth` does. */
export function writeAssembly(directory: string, template: object, stackName = 'tiny'): void {
  writeFileSync(join(directory, `${stackName}.template.json`), JSON.stringify(template));
  writeFileSync(
    join(directory, 'manifest.json'),
    JSON.stringify({
      version: '40.0.0',
      artifacts: {
        [stackName]: {
          type: 'aws:cloudformation:stack',
          properties: { templateFile: `${stackName}.template.json`, stackName },
        },
        Tree: { type: 'cdk:tree', properties: { file: 'tree.json' } },
      },
    }),
  );
}

/** Waits until `probe` returns a value, for example about another process. */
export async function eventually<T>(
  probe: () => T | undefined | Promise<T | undefined>,
  timeoutMs = 15_000,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  // A probe of a runtime costs its processes ten milliseconds of CPU: what takes seconds is not asked for all the time.
  for (let pause = 25; ; pause = Math.min(pause * 1.5, 300)) {
    const value = await probe();
    if (value !== undefined) return value;
    if (Date.now() > end) throw new Error(`nothing came within ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
