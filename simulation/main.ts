import { writeFileSync } from 'node:fs';
import type { Colors } from '../src/terminal/colors.ts';
import { showProgress } from '../src/terminal/progress.ts';
import { processTerminal } from '../src/terminal/terminal.ts';
import { describeNewsletter, newsletterPlot } from './newsletter/describe-newsletter.ts';
import type { NewsletterFigures } from './newsletter/newsletter-figures.ts';
import { runNewsletter } from './newsletter/run-newsletter.ts';
import { parseOptions, type SimulateOptions, UsageError, usage } from './options.ts';
import { describeFigures } from './report/describe.ts';
import type { Figures } from './report/figures.ts';
import { backlogPlot, plotOf } from './report/plot.ts';
import { runScenario } from './run-scenario.ts';
import { newsletterOf, scenarioOf } from './scenarios/catalogue.ts';

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
  const update = (done: number) => progress.update({ verb: 'finished', done, total });
  const result =
    'newsletter' in scenario
      ? newsletterResult(await runNewsletter(newsletterOf(scenario, notifications), seed, update))
      : pipelineResult(await runScenario(scenarioOf(scenario, notifications), seed, update));
  progress.end();
  const { samples: _, ...printed } = result.figures;
  terminal.print(json ? `${JSON.stringify(printed)}\n` : result.describe(terminal.colors));
  if (plot !== undefined) writeFileSync(plot, plotOf(result.plot));
  return result.figures.violations > 0 || result.figures.budgets.some(({ met }) => !met) ? 1 : 0;
}

function pipelineResult(figures: Figures) {
  return { figures, describe: (colors: Colors) => describeFigures(figures, colors), plot: backlogPlot(figures) };
}

function newsletterResult(figures: NewsletterFigures) {
  return { figures, describe: (colors: Colors) => describeNewsletter(figures, colors), plot: newsletterPlot(figures) };
}
