/** The full line for the shell; arguments that the shell would read otherwise are quoted. */
export function shellCommand(command: string, local: boolean, args: readonly string[] = []): string {
  return [`npm run ops -- ${command}`, ...args.map(quoted), ...(local ? ['--local'] : [])].join(' ');
}

/** Ids come from other systems: whoever copies the line must not run what an id says. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
