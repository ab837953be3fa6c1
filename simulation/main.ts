import { writeFileSync } from 'node:fs';
import { showProgress } from '../src/terminal/progress.ts';
import { processTerminal } from '../src/terminal/terminal.ts';
import { parseOptions, type SimulateOptions, UsageError, usage } from './options.ts';
import { describeFigures } from './report/describe.ts';
import { plotOf } from './report/plot.ts';
import { runScenario } from './run-scenario.ts';
import { scenarioOf } from './scenarios/catalogue.ts';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  let options: SimulateOptions | undefined;
  try {
    options = parseOptions(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  if (options === undefined) {
    process.stdout.write(usage());
    return 0;
  }
  return simulate(options);
}

async function simulate({ scenario, notifications, seed, json, plot }: SimulateOptions): Promise<number> {
  const terminal = processTerminal();
  const progress = showProgress({ terminal, json });
  process.once('exit', progress.end);
  const total = notifications;
  const figures = await runScenario(scenarioOf(scenario, notifications), seed, (done) =>
    progress.update({ verb: 'finished', done, total }),
  );
  progress.end();
  const { samples: _, ...printed } = figures;
  terminal.print(json ? `${JSON.stringify(printed)}\n` : describeFigures(figures, terminal.colors));
  if (plot !== undefined) writeFileSync(plot, plotOf(figures));
  return figures.violations > 0 || figures.budgets.some(({ met }) => !met) ? 1 : 0;
}
