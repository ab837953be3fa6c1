import { type BuildOptions, build } from 'esbuild';
import { PROJECT_ROOT } from './project-root.ts';

/** Bundles an entry for Node. @returns the files that went into the bundle, relative to the repository */
export async function bundle(entry: string, outfile: string, more: BuildOptions): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: PROJECT_ROOT,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    ...more,
    metafile: true,
  });
  return Object.keys(metafile.inputs);
}
