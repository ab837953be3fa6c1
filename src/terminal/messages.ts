import type { Terminal } from './terminal.ts';

/** Names a step on stderr. Unlike a step of `Progress`, the line stays. */
export function sayStep({ say, colors }: Terminal, step: string): void {
  say(`${colors.cyan('•')} ${step}\n`);
}

/** Reports an error on stderr. */
export function sayError({ say, colors }: Terminal, message: string): void {
  say(`${colors.red('✗')} ${message}\n`);
}
