import type { Session } from './session.ts';

/** A command as it is to be typed to go on with the deployment that this one is at work on. */
export function opsCommand(command: string, { local }: Pick<Session, 'local'>): string {
  return `npm run ops -- ${command}${local ? ' --local' : ''}`;
}

/** Names the step that usually comes next; to stderr, as it is no part of the result. */
export function sayNext(what: string, command: string, session: Session): void {
  session.terminal.say(`\n${what}: ${opsCommand(command, session)}\n`);
}
