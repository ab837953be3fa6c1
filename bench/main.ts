import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readAssembly } from '../src/local/emulator/template/assembly.ts';
import { DEFAULT_WORK_DIR } from '../src/local/runtime/paths.ts';
import { synthesize } from '../src/local/runtime/synthesize.ts';
import { type Progress, showProgress } from '../src/terminal/progress.ts';
import { processTerminal, type Terminal } from '../src/terminal/terminal.ts';
import { BENCHMARKS } from './catalogue.ts';
import { type BenchOptions, parseOptions, UsageError, usage } from './options.ts';
import { renderReport, reportOf } from './report.ts';
import { runAll } from './run.ts';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  let options: BenchOptions;
  try {
    options = parseOptions(
      args,
      BENCHMARKS.map(({ name }) => name),
    );
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(usage(BENCHMARKS));
    return 0;
  }
  const terminal = processTerminal();
  // Steps go to stderr, so they do no harm beside the JSON on stdout.
  const progress = showProgress({ terminal, json: false });
  const home = mkdtempSync(join(tmpdir(), 'notification-retry-bench-'));
  // Child processes end with this process, but their files would stay.
  const removeHome = () => rmSync(home, { recursive: true, force: true });
  process.once('exit', removeHome);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  try {
    return await bench(options, home, { terminal, progress });
  } catch (error) {
    progress.end();
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

interface Output {
  readonly terminal: Terminal;
  readonly progress: Progress;
}

async function bench(options: BenchOptions, home: string, { terminal, progress }: Output): Promise<number> {
  const started = new Date();
  progress.step('reading the synthesized stack');
  const directory = await synthesize(DEFAULT_WORK_DIR, () =>
    progress.step('synthesizing and bundling the stack: once, until its sources change'),
  );
  const chosen = BENCHMARKS.filter(({ name }) => options.only === undefined || options.only.includes(name));
  const context = {
    stack: readAssembly(directory),
    home,
    step: (text: string) => progress.step(text),
    ...(options.profile !== undefined && { profiles: resolve(options.profile) }),
  };
  const { figures, failures } = await runAll(chosen, context);
  progress.end();
  const report = reportOf(started, new Date(), figures, failures);
  terminal.print(options.json ? `${JSON.stringify(report, null, 2)}\n` : renderReport(report, terminal.colors));
  return failures.length > 0 || (options.strict && !report.met) ? 1 : 0;
}
