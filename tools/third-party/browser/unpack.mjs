// Unpacks the Chromium of @sparticuz/chromium beside itself: `unpack.mjs` lies in .local/tools/browser when it runs.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const target = join(import.meta.dirname, 'chromium');
if (!existsSync(target)) {
  const partial = `${target}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial);
  // The package unpacks into the directory for temporary files; each file of it lies there under a fixed name.
  process.env.TMPDIR = partial;
  const { default: chromium, inflate } = await import('@sparticuz/chromium');
  await chromium.executablePath();
  // Libraries that a small Linux lacks, such as libnss3.
  await inflate(join(import.meta.dirname, 'node_modules', '@sparticuz', 'chromium', 'bin', 'al2023.tar.br'));
  renameSync(partial, target);
}
