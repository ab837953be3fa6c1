import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { workQueueOf } from '../../src/core/model/work-index.ts';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';
import { createContext } from '../bench/benchmark.ts';
import { type MeasuredFunction, tableNames } from '../bench/setup/function.ts';
import { BATCH, webhookPasses } from '../bench/setup/lanes.ts';
import { withMembers } from '../bench/setup/newsletter.ts';
import { bodyOf, putAll, seedDue } from '../bench/setup/rows.ts';
import { inWorld, type StartOptions, type World } from '../bench/setup/world.ts';
import { type HouseFigure, loadFigures, staticFigures } from './house-figures.ts';

/** Prints how large the house is: `npm run house`; `npm run house -- --executed` also runs a delivery, a batch of a mailing and a redrive. */
const figures = [...staticFigures(), ...(await loadFigures())];
if (process.argv.includes('--executed'))
  figures.push(await deliveryFigure(), await batchFigure(), await redriveFigure());
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
    const start = (options: StartOptions) => world.start('send-webhook', options);
    const pass = await webhookPasses(world, BATCH, { name: 'instant', path: '/ok', tenants: 1 });
    // The first batch also reads data keys, breakers and budgets.
    const value = await executedBy('send-webhook', world.directory, start, async (fn) => {
      for (const _ of ['first', 'warm']) await pass(fn);
    });
    return { name: 'files that a delivery executes', value, aim: 30 };
  });
}

/** Likewise a batch of a mailing, after another one of it: the post is rendered by then. */
async function batchFigure(): Promise<HouseFigure> {
  const context = await createContext(() => {});
  return withMembers(context, { name: 'executed', members: 1_500 }, async ({ world, start, prepared, sent }) => {
    const send = (options: StartOptions) => start('newsletter-send', options);
    const value = await executedBy('newsletter-send', world.directory, send, async (fn) => {
      await prepared('two batches', start('newsletter-prepare'));
      await sent('two batches', fn);
    });
    return { name: "files that a mailing's batch executes", value, aim: 35 };
  });
}

/** The console's function redrives a dead notification, after another one. */
async function redriveFigure(): Promise<HouseFigure> {
  const context = await createContext(() => {});
  return inWorld(context, async (world) => {
    const items = await seedDue(world, 2, { channel: 'webhook', recipient: world.receiver.url, body: bodyOf(1024) });
    const end = { send_status: 'FAILED', failure_reason: 'MAX_RETRIES', work_queue: workQueueOf('dead', 'normal', '') };
    const dead = items.map((item) => ({ ...item, ...toItem(end) }));
    await putAll(world, tableNames(world).notification_log, dead);
    const start = (options: StartOptions) => consoleApi(world, options);
    const value = await executedBy('console-api', world.directory, start, async (fn) => {
      const { results } = await fn.run(dead.map(({ log_id }) => redrive(String(log_id?.S))));
      if (!JSON.stringify(results.at(-1)).includes('queued'))
        throw new Error(`not redriven: ${JSON.stringify(results)}`);
    });
    return { name: 'files that a redrive by the console executes', value, aim: 35 };
  });
}

/** The bench's stage has no console: its function runs with the environment of the intake API's, and its own. */
function consoleApi(world: World, { environment, ...options }: StartOptions): MeasuredFunction {
  const audit = world.plan.tables.find(({ TableName }) => TableName?.includes('Audit'))?.TableName ?? '';
  const roles = { ROLE_CLAIM: 'groups', OPERATOR_VALUES: 'operator', VIEWER_VALUES: 'viewer' };
  const own = { ...roles, AUDIT_TABLE: audit, STACK_NAME: 'bench' };
  return world.start('api-intake', { ...options, environment: { ...environment, ...own } });
}

/** API Gateway's event, whose token nobody but API Gateway checks. */
function redrive(log_id: string): object {
  const claims = { sub: 'bench', groups: 'operator' };
  const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
  return {
    routeKey: 'POST /api/{proxy+}',
    rawPath: '/api/actions',
    rawQueryString: '',
    headers: { authorization: `Bearer e30.${payload}.c2ln` },
    body: JSON.stringify({ request_id: randomUUID(), action: 'redrive', log_ids: [log_id] }),
    requestContext: { http: { method: 'POST', path: '/api/actions' }, authorizer: { jwt: { claims } } },
  };
}

/** How many of our files the second event of a function executes. */
async function executedBy(
  service: string,
  home: string,
  start: (options: StartOptions) => MeasuredFunction,
  run: (fn: MeasuredFunction) => Promise<unknown>,
): Promise<number> {
  const coverage = join(home, 'coverage');
  // A sandbox finds what lies beside its code only.
  const bundle = join(PROJECT_ROOT, `.measured-${process.pid}.mjs`);
  const handler = pathToFileURL(join(PROJECT_ROOT, `functions/${service}/handler.ts`)).href;
  const lines = [
    "import { takeCoverage } from 'node:v8';",
    `import { handler as deployed } from '${handler}';`,
    // The counts begin anew before each event.
    'export const handler = (event, context) => (takeCoverage(), deployed(event, context).finally(takeCoverage));',
  ];
  writeFileSync(bundle, lines.join('\n'));
  try {
    const nodeOptions = ['--import', import.meta.resolve('tsx')];
    const fn = start({ bundle, environment: { NODE_V8_COVERAGE: coverage }, nodeOptions });
    await run(fn);
    await fn.stop();
    const files = executedFiles(coverage, 2);
    if (process.argv.includes('--list')) for (const file of [...files].sort()) process.stderr.write(`${file}\n`);
    return files.size;
  } finally {
    rmSync(bundle);
  }
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
