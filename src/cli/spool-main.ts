#!/usr/bin/env node
import { runSpoolProgram } from './spool-program.ts';
import { processTerminal } from './terminal.ts';

process.exitCode = await runSpoolProgram(process.argv.slice(2), {
  terminal: processTerminal(),
  clock: () => new Date(),
  env: process.env,
  command: 'npx notification-spool',
});
