import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';
import { createContext } from '../bench/benchmark.ts';
import { BATCH, webhookPasses } from '../bench/setup/lanes.ts';
import { inWorld } from '../bench/setup/world.ts';
import { type HouseFigure, loadFigures, staticFigures } from './house-figures.ts';

/** Prints how large the house is: `npm run house`; `npm run house -- --delivery` also runs a delivery. */
const figures = [...staticFigures(), ...(await loadFigures())];
if (process.argv.includes('--delivery')) figures.push(await deliveryFigure());
const lines = figures.map(({ name, value, aim }) => {
  const judged =
    aim === undefined ? '' : `  aim ${aim.toLocaleString('en')}${value > aim ? `, ${value - aim} too many` : ''}`;
  return `${name.padEnd(44)}${value.toLocaleString('en').padStart(8)}${judged}\n`;
});
// Written at once: `| head` closes the pipe after its lines.
process.stdout.write(lines.join(''));

/** Runs the deployed webhook function from its sources, on the stand-ins, under V8's coverage. */
async function deliveryFigure(): Promise<HouseFigure> {
  const context = await createContext(() => {});
  return inWorld(context, async (world) => {
    const coverage = join(world.directory, 'coverage');
    const fn = world.start('send-webhook', {
      bundle: measuredEntry(world.directory),
      environment: { NODE_V8_COVERAGE: coverage },
      nodeOptions: ['--import', import.meta.resolve('tsx')],
    });
    const pass = await webhookPasses(world, BATCH, { name: 'instant', path: '/ok', tenants: 1 });
    // The first batch also reads data keys, breakers and budgets.
    for (const _ of ['first', 'warm']) await pass(fn);
    await fn.stop();
    return { name: 'files that a delivery executes', value: executedFiles(coverage, 2).size, aim: 40 };
  });
}

/** A module around a function's handler that starts the counts of coverage anew before each event. */
function measuredEntry(home: string): string {
  const entry = join(home, 'measured.mjs');
  const handler = pathToFileURL(join(PROJECT_ROOT, 'functions/send-webhook/handler.ts')).href;
  const lines = [
    "import { takeCoverage } from 'node:v8';",
    `import { handler as deployed } from '${handler}';`,
    'export const handler = (event, context) => (takeCoverage(), deployed(event, context).finally(takeCoverage));',
  ];
  writeFileSync(entry, lines.join('\n'));
  return entry;
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

/** Our files of which an event ran a function. @param event its number, from 1 */
function executedFiles(directory: string, event: number): Set<string> {
  const timeOf = (file: string) => Number(/-(\d+)-\d+\.json$/.exec(file)?.[1]);
  const written = readdirSync(directory).sort((one, other) => timeOf(one) - timeOf(other));
  const file = written[2 * event - 1];
  if (file === undefined) throw new Error(`event ${event} left no coverage`);
  const { result } = JSON.parse(readFileSync(join(directory, file), 'utf8')) as Coverage;
  const ran = result.filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0));
  const within = (folder: string) => (url: string) =>
    url.startsWith(pathToFileURL(join(PROJECT_ROOT, folder, '/')).href);
  // The local runtime, which the function runs in here, is not deployed.
  const [isFunction, isSource, isLocal] = [within('functions'), within('src'), within('src/local')] as const;
  return new Set(ran.map(({ url }) => url).filter((url) => isFunction(url) || (isSource(url) && !isLocal(url))));
}
