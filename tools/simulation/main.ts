import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PRIORITIES } from '../../src/core/model/channels.ts';
import { command } from '../../src/terminal/command-line.ts';
import { type Progress, showProgress } from '../../src/terminal/progress.ts';
import { processTerminal } from '../../src/terminal/terminal.ts';
import { STATES } from './audit/newsletter-auditor.ts';
import { newsletterLines } from './newsletter/newsletter-figures.ts';
import { runNewsletter } from './newsletter/run-newsletter.ts';
import { parseOptions, type SimulateOptions, usage } from './options.ts';
import { describe, linesOf, summaryTable, timeLeft } from './report/describe.ts';
import { plotOf } from './report/plot.ts';
import { runScenario } from './run-scenario.ts';
import { type NamedScenario, newsletterOf, scenarioOf } from './scenarios/catalogue.ts';

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
    if (file !== undefined) writeFileSync(file, result.plot());
    if (!json) terminal.print(result.text);
    done.push(result);
  }
  progress.end();
  const printed = done.map(({ figures: { samples: _, ...kept } }) => kept);
  if (json) terminal.print(`${JSON.stringify(all ? { scenarios: printed } : printed[0])}\n`);
  else if (all)
    terminal.print(`\n${summaryTable(done.map(({ figures, cpu_seconds }) => ({ ...figures, cpu_seconds })))}`);
  return printed.some(({ violations, budgets }) => violations > 0 || budgets.some(({ met }) => !met)) ? 1 : 0;
}

async function simulateOne(scenario: NamedScenario, { notifications, seed }: SimulateOptions, progress: Progress) {
  const total = notifications ?? scenario.notifications;
  const began = Date.now();
  const cpu = process.cpuUsage();
  const update = (done: number, handedOver = done) => {
    const share = (done + handedOver) / (2 * total);
    progress.update({ verb: `${scenario.name}: finished`, done, total, summary: timeLeft(share, Date.now() - began) });
  };
  const shown =
    'newsletter' in scenario
      ? await sendNewsletter(newsletterOf(scenario, notifications), seed, update)
      : await sendNotifications(scenarioOf(scenario, notifications), seed, update);
  const { user, system } = process.cpuUsage(cpu);
  return { ...shown, cpu_seconds: (user + system) / 1e6 };
}

async function sendNotifications(...run: Parameters<typeof runScenario>) {
  const figures = await runScenario(...run);
  const plot = () => plotOf(figures, 'notifications that wait, by priority', PRIORITIES);
  return { figures, text: describe(figures, linesOf(figures), figures.waits), plot };
}

async function sendNewsletter(...run: Parameters<typeof runNewsletter>) {
  const figures = await runNewsletter(...run);
  return {
    figures,
    text: describe(figures, newsletterLines(figures)),
    plot: () => plotOf(figures, 'recipients by state', STATES),
  };
}
