import type { Session } from './session.ts';

/** The full command line that works on the same deployment as this command. */
export function opsCommand(command: string, { local }: Pick<Session, 'local'>): string {
  return `npm run ops -- ${command}${local ? ' --local' : ''}`;
}

/** Suggests the next command. The suggestion goes to stderr because it is not part of the result. */
export function sayNext(purpose: string, command: string, session: Session): void {
  session.terminal.say(`\n${purpose}: ${opsCommand(command, session)}\n`);
}
