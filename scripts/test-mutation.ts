import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PROJECT_ROOT } from '../src/local/runtime/directories.ts';
import { instrument, type Mutant, paths, type Run, resultsOf, type Source, type Status } from './mutation/run.ts';
import { TARGETS, type Target } from './mutation/targets.ts';

/** Mutates the sources of each named target, or of all, and fails if the tests of a file notice too few of its mutants. */
const TOOLS = join(PROJECT_ROOT, '.local', 'tools', 'mutation');
const INSTRUMENTER = join(TOOLS, 'node_modules', '@stryker-mutator', 'instrumenter', 'dist', 'src', 'index.js');
const SOURCES = join(PROJECT_ROOT, 'scripts', 'mutation');
const VITEST = join(PROJECT_ROOT, 'node_modules', 'vitest', 'vitest.mjs');
/** A process that ends no test within this time is in an endless loop, which no timer of its own can end. */
const SILENT_MS = 30_000;
/** Until it has loaded the tests, and run each of them once. */
const START_MS = 300_000;

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(TARGETS);
const unknown = names.filter((name) => !Object.hasOwn(TARGETS, name));
if (unknown.length > 0) {
  process.stderr.write(`There is no target ${unknown.join(', ')}: ${Object.keys(TARGETS).join(', ')}.\n`);
  process.exit(2);
}
install();
const failures: string[] = [];
for (const name of names) {
  const target = TARGETS[name];
  if (target !== undefined) failures.push(...(await mutate(name, target)));
}
for (const failure of failures) process.stderr.write(`${failure}\n`);
process.exit(failures.length > 0 ? 1 : 0);

/** The version of scripts/mutation/tools.json, which is no dependency of the project. */
function install(): void {
  const wanted = readFileSync(join(SOURCES, 'tools.json'), 'utf8');
  const manifest = join(TOOLS, 'package.json');
  if (existsSync(INSTRUMENTER) && existsSync(manifest) && readFileSync(manifest, 'utf8') === wanted) return;
  mkdirSync(TOOLS, { recursive: true });
  writeFileSync(manifest, wanted);
  spawnSync('npm', ['install', '--no-audit', '--no-fund'], { cwd: TOOLS, stdio: 'inherit' });
  if (!existsSync(INSTRUMENTER)) throw new Error(`Stryker's instrumenter was not installed into ${TOOLS}`);
}

/** @returns the files whose score is too low */
async function mutate(name: string, target: Target): Promise<string[]> {
  const folder = join(PROJECT_ROOT, '.local', 'mutation', name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const found = (patterns: readonly string[], exclude: readonly string[] = []) =>
    globSync([...patterns], { cwd: PROJECT_ROOT, exclude: [...exclude] }).map((file) => join(PROJECT_ROOT, file));
  const sources = found(target.mutate).map((file) => {
    return { name: file, content: readFileSync(file, 'utf8'), mutate: true };
  });
  const instrumented = await instrument(sources, INSTRUMENTER);
  writeFileSync(paths(folder).instrumented, JSON.stringify(instrumented));
  await runAll({ folder, testFiles: found(target.tests, target.without) }, instrumented.mutants);
  const scores = scoresOf(sources, instrumented.mutants, resultsOf(folder));
  const report = join(folder, 'report.txt');
  writeFileSync(report, reportOf(scores));
  process.stdout.write(`${readFileSync(report, 'utf8')}\n`);
  const { atLeast, files = {} } = target;
  return scores.flatMap(({ file, score, all }) => {
    const needed = files[file] ?? atLeast;
    return score < needed ? [`${file}: ${score.toFixed(1)} % of ${all} mutants are noticed, expected ${needed} %`] : [];
  });
}

/** Runs the mutants in one process, and in another one after a mutant that never ends. */
async function runAll(run: Run, mutants: readonly Mutant[]): Promise<void> {
  for (;;) {
    const args = [VITEST, 'run', '--config', join(SOURCES, 'vitest.config.ts'), '--reporter=dot'];
    const env = { ...process.env, MUTATION_RUN: JSON.stringify(run) };
    const child = spawn(process.execPath, args, { cwd: PROJECT_ROOT, env, stdio: ['ignore', 'ignore', 'inherit'] });
    const ended = await endOf(child, run.folder);
    const results = resultsOf(run.folder);
    const begun = [...results].find(([, status]) => status === 'Begun');
    if (begun) appendFileSync(paths(run.folder).results, `${JSON.stringify({ id: begun[0], status: 'Timeout' })}\n`);
    else if (ended !== 0 || results.size < mutants.length) throw new Error('the tests fail without a mutant, too');
    if (resultsOf(run.folder).size === mutants.length) return;
  }
}

/** @returns the exit code; null when the process was ended because it was silent */
async function endOf(child: ChildProcess, folder: string): Promise<number | null> {
  const started = Date.now();
  const { results } = paths(folder);
  while (child.exitCode === null && child.signalCode === null) {
    await pause(500);
    const lastTest = existsSync(results) ? statSync(results).mtimeMs : 0;
    const [since, longest] = lastTest > started ? [lastTest, SILENT_MS] : [started, START_MS];
    if (Date.now() - since > longest) child.kill('SIGKILL');
  }
  return child.exitCode;
}

interface FileScore {
  /** From the repository's folder. */
  readonly file: string;
  /** Percent of the mutants that the tests notice, as Stryker counts: what is computed once on import is left out. */
  readonly score: number;
  readonly all: number;
  /** A line per mutant that no test notices. */
  readonly unnoticed: readonly string[];
}

function scoresOf(
  sources: readonly Source[],
  mutants: readonly Mutant[],
  results: ReadonlyMap<string, Status>,
): FileScore[] {
  return sources.map(({ name, content }) => {
    const own = mutants.filter(({ id, fileName }) => fileName === name && results.get(id) !== 'Static');
    const alive = own.filter(({ id }) => ['Survived', 'NoCoverage'].includes(results.get(id) ?? ''));
    const score = own.length === 0 ? 100 : (100 * (own.length - alive.length)) / own.length;
    const lines = content.split('\n');
    const unnoticed = alive.map((mutant) => described(mutant, lines, results.get(mutant.id)));
    return { file: relative(PROJECT_ROOT, name), score, all: own.length, unnoticed };
  });
}

function reportOf(scores: readonly FileScore[]): string {
  return scores
    .map(({ file, score, all, unnoticed }) => [`${file}: ${score.toFixed(1)} % of ${all}`, ...unnoticed].join('\n'))
    .join('\n');
}

function described(mutant: Mutant, lines: readonly string[], status?: Status): string {
  const { start, end } = mutant.location;
  const first = lines[start.line] ?? '';
  const original = start.line === end.line ? first.slice(start.column, end.column) : `${first.slice(start.column)} …`;
  const reached = status === 'NoCoverage' ? ' (never run)' : '';
  return `  ${start.line + 1}:${start.column + 1}${reached} ${short(original)}  →  ${short(mutant.replacement)}`;
}

function short(code: string): string {
  return code.replace(/\s+/g, ' ').slice(0, 110);
}
