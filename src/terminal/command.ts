import { type Command, CommanderError, Help, Option } from 'commander';
import { describeError, EXIT_USAGE, SEE_HELP } from './errors.ts';
import { sayError } from './output.ts';
import type { Terminal } from './terminal.ts';

/** @param before of an option that is repeated: what it has so far */
type Parse<T> = (text: string, before?: T) => T;

/** What an option or an argument takes; `Given`: it always has a value. One that is a text only says what it is for. */
interface Taken<T, Given extends boolean> {
  readonly says: string;
  readonly given: Given;
  readonly parse?: Parse<T>;
  readonly choices?: readonly string[];
  readonly byDefault?: T;
}

/** A value as its parser makes it. */
export function value<T>(says: string, parse: Parse<T>): Taken<T, false>;
export function value<T>(says: string, parse: Parse<T>, byDefault: T): Taken<T, true>;
export function value<T>(says: string, parse: Parse<T>, byDefault?: T): Taken<T, boolean> {
  return { says, parse, given: byDefault !== undefined, ...(byDefault !== undefined && { byDefault }) };
}

/** One of a few values. */
export function choice<const T extends string>(says: string, choices: readonly T[]): Taken<T, false>;
export function choice<const T extends string>(says: string, choices: readonly T[], byDefault: T): Taken<T, true>;
export function choice<const T extends string>(says: string, choices: readonly T[], byDefault?: T): Taken<T, boolean> {
  return { says, choices, given: byDefault !== undefined, ...(byDefault !== undefined && { byDefault }) };
}

/** Without it the command is refused. */
export function required<T>(taken: Taken<T, false>): Taken<T, true>;
export function required(says: string): Taken<string, true>;
// biome-ignore lint/suspicious/noExplicitAny: the overloads above say what it is.
export function required(taken: Taken<any, false> | string): Taken<any, true> {
  return { ...(typeof taken === 'string' ? { says: taken } : taken), given: true };
}

// biome-ignore lint/suspicious/noExplicitAny: what each takes is known where its command is described.
type AnyTaken = string | Taken<any, boolean>;
/** By their flags, such as `--limit <N>`. */
export type Options = Readonly<Record<`--${string}`, AnyTaken>>;

type Camel<S extends string> = S extends `${infer A}-${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S;
type NameOf<F> = F extends `--no-${infer N}`
  ? Camel<N>
  : F extends `--${infer N} ${string}`
    ? Camel<N>
    : F extends `--${infer N}`
      ? Camel<N>
      : never;
type ValueOf<F, T> = T extends Taken<infer V, boolean> ? V : F extends `${string} ${string}` ? string : boolean;
type Always<S> = {
  [F in keyof S]: F extends `--no-${string}` ? F : S[F] extends { given: true } ? F : never;
}[keyof S];

/** What a command gets of its options. */
export type Chosen<S> = { readonly [F in Always<S> as NameOf<F>]: ValueOf<F, S[F]> } & {
  readonly [F in Exclude<keyof S, Always<S>> as NameOf<F>]?: ValueOf<F, S[F]>;
};

/** A command as data: what it takes, what its help says, and what it does. */
export interface CommandText<S extends Options> {
  readonly name: string;
  readonly says: string;
  /** By their form, such as `<ID>` or `[FILE...]`. */
  readonly args?: Readonly<Record<string, AnyTaken>>;
  readonly options?: S;
  /** After the options: what else there is to know, and examples. */
  readonly help?: string;
}

/** Adds the command to its parent. @param common options that it shares with others, after its own */
export function describeCommand<S extends Options>(
  parent: Command,
  { name, says, args = {}, options, help }: CommandText<S>,
  common: Options,
): Command {
  const command = parent.command(name).description(says);
  for (const [form, taken] of Object.entries(args)) {
    if (typeof taken === 'string') command.argument(form, taken);
    else command.argument(form, taken.says, (text) => taken.parse?.(text));
  }
  const all: Options = { ...options, ...common };
  for (const [flags, taken] of Object.entries(all)) command.addOption(optionOf(flags, taken));
  // Commander's own check comes before that of the names: it would not say that a required option is misspelt.
  command.hook('preAction', () => {
    const missing = command.options.filter(
      (one) => isRequired(all[one.flags as keyof Options]) && command.getOptionValue(one.attributeName()) === undefined,
    );
    const flags = missing.map((one) => one.flags).join(', ');
    if (missing.length > 0) command.error(`error: missing required option${missing.length > 1 ? 's' : ''}: ${flags}`);
  });
  return help === undefined ? command : command.addHelpText('after', filled(help));
}

/**
 * Its paragraphs fill the lines of the terminal, 80 columns without one; so do the explanations of words, each after its
 * word and two spaces; lists and examples stay as they are.
 */
function filled(help: string): string {
  const helper = Object.assign(new Help(), { helpWidth: process.stdout.columns ?? 80 });
  const item = (line: string, width: number) => {
    const [word = '', says] = line.split(/ {2,}/);
    return says === undefined ? line : helper.formatItem(word, width, says, helper);
  };
  const part = (text: string) => {
    const lines = text.split('\n');
    if (/\n[ -]/.test(text)) return text;
    const width = Math.max(...lines.map((line) => line.search(/ {2}/)));
    if (width > 0) return lines.map((line) => item(line, width)).join('\n');
    return `${text.startsWith('\n') ? '\n' : ''}${helper.boxWrap(text.trim().replaceAll('\n', ' '), helper.helpWidth)}`;
  };
  return help.split('\n\n').map(part).join('\n\n');
}

function isRequired(taken: AnyTaken | undefined): boolean {
  return typeof taken === 'object' && taken.given && taken.byDefault === undefined;
}

function optionOf(flags: string, taken: AnyTaken): Option {
  if (typeof taken === 'string') return new Option(flags, taken);
  const { says, parse, choices, byDefault } = taken;
  const option = new Option(flags, isRequired(taken) ? `required: ${says}` : says);
  if (parse !== undefined) option.argParser(parse);
  if (choices !== undefined) option.choices(choices);
  if (byDefault !== undefined) option.default(byDefault);
  return option;
}

/** Commands under one word. */
export function addGroup<C>(
  parent: Command,
  name: string,
  says: string,
  commands: readonly ((parent: Command, context: C) => unknown)[],
  context: C,
): void {
  const group = parent.command(name).description(says).usage('<command> [options]');
  for (const add of commands) add(group, context);
}

/**
 * Runs one command of a program, and reports its error on the terminal.
 * @param args without node and script
 * @param create makes the program; a command passes its exit code to `exitWith`
 * @returns the exit code: 0 done, 1 the command could not be carried out, 2 an argument or a setting is wrong
 */
export async function runCommand(
  args: readonly string[],
  terminal: Terminal,
  create: (exitWith: (code: number) => void) => Command,
): Promise<number> {
  let code = 0;
  const program = create((given) => {
    code = given;
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    // Commander has already written what is wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    const { message, exitCode } = describeError(error);
    sayError(terminal, message);
    return exitCode;
  }
}

/** Makes a program throw instead of ending the process, and write to the terminal. */
export function writingTo(terminal: Terminal, program: Command): Command {
  return program
    .exitOverride()
    .configureOutput({ writeOut: terminal.print, writeErr: terminal.say })
    .showHelpAfterError(SEE_HELP);
}
