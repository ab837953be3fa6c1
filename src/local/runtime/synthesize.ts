import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { takePidLock } from '../../processes/pid-lock.ts';
import { pinnedNode } from '../processes/start-child.ts';
import type { Teardown } from '../processes/teardown.ts';
import { isObject, type Json, type JsonObject, objectAt } from '../support/json.ts';
import { PROJECT_ROOT } from './directories.ts';

/** The sources of the synthesized app and of its bundles. */
const SOURCES = [
  'cdk.json',
  'package-lock.json',
  'tsconfig.json',
  'bin/**/*.ts',
  'lib/**/*.ts',
  'functions/**/*.ts',
  'src/core/**/*.ts',
  'src/adapters/**/*.ts',
];
/** The CDK CLI adds these to the context of every app. cdk.json may not contain them: the prefix is reserved. */
const CLI_CONTEXT = { 'aws:cdk:enable-asset-metadata': true, 'aws:cdk:enable-path-metadata': true };
const KEPT_SYNTHESES = 3;
/** Milliseconds between two looks at whether another process has ended its synthesis. */
const LOCK_INTERVAL_MS = 100;

class Synthesizing extends Error {}

/**
 * Runs the CDK app, as `cdk synth` does, for the stage `local` of cdk.json, or with the configuration of `dev` when
 * there is none. The result is kept until a source changes, because bundling takes many seconds. A second process that
 * needs it meanwhile waits for the first.
 * @param signal kills the app; the promise then still waits for the bundler's end
 * @returns the cloud assembly's directory
 * @throws Error with the app's output when the app fails; the signal's reason after an abort
 */
export async function synthesize(
  workDir: string,
  onRun: () => void = () => {},
  signal: AbortSignal = new AbortController().signal,
  parts: LocalParts = 'everything',
): Promise<string> {
  const cache = join(workDir, 'synth');
  const directory = join(cache, parts === 'everything' ? hashOfSources() : `${hashOfSources()}-${parts}`);
  const complete = () => existsSync(join(directory, 'manifest.json'));
  if (complete()) return directory;
  const unlock = await lockWhenFree(`${cache}.lock`, signal);
  const partial = `${directory}.partial`;
  try {
    if (complete()) return directory;
    onRun();
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial, { recursive: true });
    await runApp(partial, signal, parts);
    renameSync(partial, directory);
    dropOld(cache);
  } finally {
    rmSync(partial, { recursive: true, force: true });
    unlock();
  }
  return directory;
}

/**
 * The parts of the local stage, as a stage configures them. The console is served by the runtime itself, in each of them.
 * `default` is what a stage gets that says nothing of its parts.
 */
export const LOCAL_PARTS = {
  everything: { monitoring: 'full', outcomes: true },
  default: {},
  'without-newsletters': { monitoring: 'full', newsletters: false, outcomes: true },
  least: { channels: ['webhook'], api: false, newsletters: false, monitoring: 'off' },
} as const satisfies Readonly<Record<string, JsonObject>>;
export type LocalParts = keyof typeof LOCAL_PARTS;

/**
 * The context of cdk.json, with the stage `local` added and selected. The local SES reports at once or never, so a resend
 * to uncertain recipients waits for a minute only.
 */
export function localContext(cdkJson: JsonObject, parts: LocalParts = 'default'): JsonObject {
  const context = objectAt(cdkJson['context'] ?? {}, 'context in cdk.json');
  const root = context['notification-retry'];
  if (!isObject(root) || !isObject(root['stages'])) return context;
  const { stages } = root;
  return {
    ...context,
    stage: 'local',
    'notification-retry': {
      ...root,
      stages: { ...stages, local: stages['local'] ?? { ...withShortWait(stages['dev']), ...LOCAL_PARTS[parts] } },
    },
  };
}

function withShortWait(stage: Json | undefined): JsonObject {
  if (!isObject(stage)) return {};
  const newsletter = isObject(stage['newsletter']) ? stage['newsletter'] : {};
  return { ...stage, stackPerPart: false, newsletter: { uncertainMinutes: 1, ...newsletter } };
}

function hashOfSources(): string {
  const hash = createHash('sha256');
  for (const path of globSync(SOURCES, { cwd: PROJECT_ROOT }).sort()) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(PROJECT_ROOT, path)))
      .update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}

async function lockWhenFree(path: string, signal: AbortSignal): Promise<() => void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return takePidLock(path, () => new Synthesizing());
    } catch (error) {
      if (!(error instanceof Synthesizing)) throw error;
    }
    await setTimeout(LOCK_INTERVAL_MS, undefined, { signal });
  }
}

async function runApp(outDir: string, signal: AbortSignal, parts: LocalParts): Promise<void> {
  signal.throwIfAborted();
  const cdkJson = objectAt(JSON.parse(readFileSync(join(PROJECT_ROOT, 'cdk.json'), 'utf8')), 'cdk.json');
  const child = spawn(pinnedNode(), ['bin/app.ts'], {
    cwd: PROJECT_ROOT,
    env: {
      ...process.env,
      CDK_OUTDIR: outDir,
      CDK_CONTEXT_JSON: JSON.stringify({ ...localContext(cdkJson, parts), ...CLI_CONTEXT }),
      JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  let output = '';
  const collect = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-8_000);
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => signal.removeEventListener('abort', kill));
  signal.throwIfAborted();
  if (code !== 0) throw new Error(`The CDK app could not be synthesized (exit code ${code}):\n${output.trim()}`);
}

function dropOld(cache: string): void {
  const byAge = readdirSync(cache)
    .map((name) => join(cache, name))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  for (const path of byAge.slice(KEPT_SYNTHESES)) rmSync(path, { recursive: true, force: true });
}

export interface SynthesisOptions {
  /** An app that is synthesized already; undefined: this project's app. */
  readonly assemblyDir?: string;
  readonly parts?: LocalParts;
  readonly onProgress?: (step: string) => void;
  readonly signal?: AbortSignal;
}

/**
 * Synthesizes the app while the stand-ins start. The caller awaits the result later; until then a failure does not
 * count as an unhandled rejection.
 * @returns the directory of the synthesized app
 */
export function startSynthesis(
  { assemblyDir, parts, onProgress, signal }: SynthesisOptions,
  workDir: string,
  teardown: Teardown,
): Promise<string> {
  if (assemblyDir !== undefined) return Promise.resolve(assemblyDir);
  const running = () => onProgress?.('the app, synthesized and bundled: once, until its sources change');
  const stop = new AbortController();
  const synthesis = synthesize(workDir, running, AbortSignal.any([stop.signal, ...(signal ? [signal] : [])]), parts);
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
