#!/usr/bin/env node
import { processTerminal } from '../../../terminal/terminal.ts';
import { runSpoolProgram } from './program.ts';

process.exitCode = await runSpoolProgram(process.argv.slice(2), {
  terminal: processTerminal(),
  clock: () => new Date(),
  env: process.env,
  command: 'npx notification-spool',
});
