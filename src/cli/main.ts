import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { findDeployment } from '../adapters/deployment/aws-deployment.ts';
import { watchForInterruption } from '../terminal/interruption.ts';
import { processTerminal } from '../terminal/terminal.ts';
import { runProgram } from './program.ts';

process.exitCode = await runProgram(process.argv.slice(2), {
  terminal: processTerminal(),
  findDeployment,
  clock: () => new Date(),
  env: process.env,
  pause: (ms) => setTimeout(ms),
  newId: randomUUID,
  stopped: () =>
    new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    }),
  interruption: watchForInterruption,
  stateDirectory: join(process.cwd(), '.local', 'ops'),
});
