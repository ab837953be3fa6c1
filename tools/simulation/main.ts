import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PRIORITIES } from '../../src/core/model/channels.ts';
import { command } from '../../src/terminal/command-line.ts';
import { type Progress, showProgress } from '../../src/terminal/progress.ts';
import { processTerminal } from '../../src/terminal/terminal.ts';
import { STATES } from './audit/newsletter-auditor.ts';
import { type NamedScenario, newsletterOf, scenarioOf } from './catalogue.ts';
import { newsletterLines, runNewsletter } from './newsletter/run-newsletter.ts';
import { parseOptions, type SimulateOptions, usage } from './options.ts';
import { type Described, describe, linesOf, sendingLines, summaryTable, timeLeft } from './report/describe.ts';
import { plotOf } from './report/plot.ts';
import { runScenario } from './run-scenario.ts';
import { measureVolume, volumeLines } from './volume/volume.ts';

process.exitCode = await command(parseOptions, usage, simulate);

async function simulate(options: SimulateOptions): Promise<number> {
  const { scenarios, all, json, plot, plots } = options;
  const terminal = processTerminal();
  const progress = showProgress({ terminal, json });
  process.once('exit', progress.end);
  if (plots !== undefined) mkdirSync(plots, { recursive: true });
  const done: Awaited<ReturnType<typeof simulateOne>>[] = [];
  for (const [i, scenario] of scenarios.entries()) {
    if (all) progress.step(`${scenario.name}, ${i + 1} of ${scenarios.length}`);
    const result = await simulateOne(scenario, options, progress);
    const file = plot ?? (plots && join(plots, `scale-${scenario.name}.svg`));
    if (file !== undefined && result.plot) writeFileSync(file, result.plot());
    if (!json) terminal.print(result.text);
    done.push(result);
  }
  progress.end();
  const printed = done.map(({ figures }) => ({ ...figures, samples: undefined }));
  if (json) terminal.print(`${JSON.stringify(all ? { scenarios: printed } : printed[0])}\n`);
  else if (all) terminal.print(`\n${summaryTable(done.map(({ figures, ...took }) => ({ ...figures, ...took })))}`);
  return printed.some(({ violations, budgets }) => violations > 0 || budgets.some(({ met }) => !met)) ? 1 : 0;
}

async function simulateOne(scenario: NamedScenario, { notifications, seed }: SimulateOptions, progress: Progress) {
  const total = notifications ?? scenario.notifications;
  const began = Date.now();
  const cpu = process.cpuUsage();
  let peak_mb = 0;
  const update = (done: number, handedOver = done) => {
    peak_mb = Math.max(peak_mb, process.memoryUsage.rss() / 1e6);
    const share = (done + handedOver) / (2 * total);
    progress.update({ verb: `${scenario.name}: finished`, done, total, summary: timeLeft(share, Date.now() - began) });
  };
  const shown = await run();
  update(total);
  const { user, system } = process.cpuUsage(cpu);
  return { ...shown, cpu_seconds: (user + system) / 1e6, peak_mb };

  async function run(): Promise<Shown> {
    if ('newsletter' in scenario) return sendNewsletter(newsletterOf(scenario, notifications), seed, update);
    if ('make' in scenario) return sendNotifications(scenarioOf(scenario, notifications), seed, update);
    const figures = await measureVolume(scenario, { count: notifications, seed }, update);
    return { figures, text: describe(figures, volumeLines(figures)) };
  }
}

interface Shown {
  readonly figures: Described;
  readonly text: string;
  /** Absent: there is nothing to see over time. */
  readonly plot?: () => string;
}

async function sendNotifications(...run: Parameters<typeof runScenario>): Promise<Shown> {
  const figures = await runScenario(...run);
  const plot = () => plotOf(figures, 'notifications that wait, by priority', PRIORITIES);
  return { figures, text: describe(figures, [...linesOf(figures), ...sendingLines(figures)], figures.waits), plot };
}

async function sendNewsletter(...run: Parameters<typeof runNewsletter>): Promise<Shown> {
  const figures = await runNewsletter(...run);
  return {
    figures,
    text: describe(figures, [...newsletterLines(figures), ...sendingLines(figures)]),
    plot: () => plotOf(figures, 'recipients by state', STATES),
  };
}
