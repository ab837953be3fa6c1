import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TARGETS, type Target } from './mutation/targets.ts';
import { PROJECT_ROOT } from './project-root.ts';

/** Mutates the sources of each named target, or of all, and fails if the tests of a file kill too few of its mutants. */
const TOOLS = join(PROJECT_ROOT, '.local', 'tools', 'mutation');
const STRYKER = join(TOOLS, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');
const SOURCES = join(PROJECT_ROOT, 'scripts', 'mutation');

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(TARGETS);
const unknown = names.filter((name) => !Object.hasOwn(TARGETS, name));
if (unknown.length > 0) {
  process.stderr.write(`There is no target ${unknown.join(', ')}: ${Object.keys(TARGETS).join(', ')}.\n`);
  process.exit(2);
}
install();
const failures = names.flatMap((name) => {
  const target = TARGETS[name];
  return target === undefined ? [] : faultsOf(target, mutate(name, target));
});
for (const failure of failures) process.stderr.write(`${failure}\n`);
process.exit(failures.length > 0 ? 1 : 0);

/** The versions of scripts/mutation/tools.json, which are no dependencies of the project. */
function install(): void {
  const wanted = readFileSync(join(SOURCES, 'tools.json'), 'utf8');
  const manifest = join(TOOLS, 'package.json');
  if (existsSync(STRYKER) && existsSync(manifest) && readFileSync(manifest, 'utf8') === wanted) return;
  mkdirSync(TOOLS, { recursive: true });
  writeFileSync(manifest, wanted);
  // The peer is the project's own vitest, which Node finds further up.
  run('npm', ['install', '--no-audit', '--no-fund', '--legacy-peer-deps'], TOOLS);
  if (!existsSync(STRYKER)) throw new Error(`Stryker was not installed into ${TOOLS}`);
}

interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: readonly { readonly status: string }[] }>>;
}

function mutate(name: string, { mutate: sources, tests }: Target): Report {
  const folder = join(PROJECT_ROOT, '.local', 'mutation', name);
  mkdirSync(folder, { recursive: true });
  const common = JSON.parse(readFileSync(join(SOURCES, 'stryker.config.json'), 'utf8')) as object;
  const report = join(folder, 'report.json');
  const config = {
    ...common,
    ...(process.env['MUTATION_CONCURRENCY'] ? { concurrency: Number(process.env['MUTATION_CONCURRENCY']) } : {}),
    mutate: sources,
    incrementalFile: join(folder, 'incremental.json'),
    jsonReporter: { fileName: report },
    htmlReporter: { fileName: join(folder, 'report.html') },
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  run(process.execPath, [STRYKER, 'run', join(folder, 'config.json')], PROJECT_ROOT, {
    MUTATION_TESTS: tests.join(','),
  });
  return JSON.parse(readFileSync(report, 'utf8')) as Report;
}

function run(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): void {
  const { status } = spawnSync(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} ended with ${status}`);
}

/** Counts as Stryker does: what a test notices against all that a test could have noticed. */
function faultsOf({ atLeast, files = {} }: Target, { files: reported }: Report): string[] {
  return Object.entries(reported).flatMap(([file, { mutants }]) => {
    const count = (...statuses: string[]) => mutants.filter(({ status }) => statuses.includes(status)).length;
    const killed = count('Killed', 'Timeout');
    const all = killed + count('Survived', 'NoCoverage');
    const score = all === 0 ? 100 : (100 * killed) / all;
    const needed = files[file] ?? atLeast;
    return score < needed ? [`${file}: ${score.toFixed(1)} % of ${all} mutants are noticed, expected ${needed} %`] : [];
  });
}
