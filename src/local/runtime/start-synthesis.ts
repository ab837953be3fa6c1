import type { Teardown } from '../processes/teardown.ts';
import { synthesize } from './synthesize.ts';

export interface SynthesisOptions {
  /** An app that is synthesized already; undefined: this project's app. */
  readonly assemblyDir?: string;
  readonly onProgress?: (step: string) => void;
  readonly signal?: AbortSignal;
}

/**
 * Synthesizes the app while the stand-ins start. The caller awaits the result later; until then a failure does not
 * count as an unhandled rejection.
 * @returns the directory of the synthesized app
 */
export function startSynthesis(
  { assemblyDir, onProgress, signal }: SynthesisOptions,
  workDir: string,
  teardown: Teardown,
): Promise<string> {
  if (assemblyDir !== undefined) return Promise.resolve(assemblyDir);
  const running = () => onProgress?.('the app, synthesized and bundled: once, until its sources change');
  const stop = new AbortController();
  const synthesis = synthesize(workDir, running, AbortSignal.any([stop.signal, ...(signal ? [signal] : [])]));
  const settled = synthesis.then(
    () => {},
    () => {},
  );
  teardown.add('synthesis', () => {
    stop.abort();
    return settled;
  });
  return synthesis;
}
