import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** Some libraries publish no licence file. These are the terms of the licences that their package.json names. */
const TERMS: Readonly<Record<string, (name: string) => string>> = {
  'Apache-2.0': () => 'Licensed under the Apache License, Version 2.0: the file LICENSE beside this one has its text.',
  MIT: (name) => `MIT License\n\nCopyright (c) the authors of ${name}\n\n${PERMISSION}${CONDITION}\n${WARRANTY}`,
  'MIT-0': (name) => `MIT No Attribution\n\nCopyright (c) the authors of ${name}\n\n${PERMISSION}.\n\n${WARRANTY}`,
};

const PERMISSION = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so`;
const CONDITION = `, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.
`;
const WARRANTY = `THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/**
 * The licences of the libraries that a bundle contains; these require it.
 * @param inputs files of the bundle, relative to the repository
 * @throws Error that names a library whose licence is unknown
 */
export function thirdPartyNotices(inputs: readonly string[]): string {
  const folders = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const notices = new Set(
    [...folders].sort().map((folder) => {
      const path = join(PROJECT_ROOT, folder);
      const manifest: Manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
      return `${manifest.name} ${manifest.version}\n\n${licenceOf(path, manifest)}\n`;
    }),
  );
  return [...notices].join(`\n${'-'.repeat(80)}\n\n`);
}

function licenceOf(path: string, { name, license = 'no licence' }: Manifest): string {
  const file = readdirSync(path).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  if (file !== undefined) return readFileSync(join(path, file), 'utf8').trim();
  const terms = TERMS[license];
  if (terms === undefined) {
    throw new Error(
      `${name} (${license}) has no licence file: add the terms of its licence to ${import.meta.filename}.`,
    );
  }
  return terms(name);
}
