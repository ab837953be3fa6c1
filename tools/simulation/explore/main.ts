import { command, read, UsageError, whole } from '../../../src/terminal/command-line.ts';
import { type Exploration, fromStates } from './explorer.ts';
import { SCOPES, scopeOf } from './scopes.ts';

/** A scope that takes longer is left unexhausted, which is said. */
const SECONDS = 3_600;
/** Characters of a scope's name. */
const LONGEST = Math.max(...Object.keys(SCOPES).map(({ length }) => length));

process.exitCode = await command(parse, usage, explore);

async function explore({ names, faults, json }: NonNullable<ReturnType<typeof parse>>): Promise<number> {
  let broken = 0;
  for (const name of names) {
    const found = await fromStates(scopeOf(name, faults), { seconds: SECONDS });
    const { violations, ...figures } = found;
    const stories = Object.fromEntries(violations);
    process.stdout.write(
      json ? `${JSON.stringify({ scope: name, faults, ...figures, stories })}\n` : lineOf(name, found),
    );
    broken += violations.size + (figures.exhausted ? 0 : 1);
  }
  return broken > 0 ? 1 : 0;
}

function lineOf(name: string, { histories, states, exhausted, seconds, violations }: Exploration): string {
  const numbers = [`${histories} histories`, `${states} states`, `${violations.size} violations`];
  const time = `${seconds.toFixed(1)} s${exhausted ? '' : ', not exhausted'}`;
  const stories = [...violations].map(
    ([what, lines]) => `\n  ${what}\n${lines.map((line) => `    ${line}\n`).join('')}`,
  );
  return `${name.padEnd(LONGEST)}  ${numbers.join(', ')}, ${time}\n${stories.join('')}`;
}

function parse(args: readonly string[]) {
  const {
    scope,
    except = '',
    faults,
    json,
    help,
  } = read(args, {
    scope: { type: 'string' },
    except: { type: 'string' },
    faults: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' },
  });
  if (help) return undefined;
  const all = Object.keys(SCOPES);
  const left_out = except === '' ? [] : except.split(',');
  for (const name of [...left_out, ...(scope === undefined ? [] : [scope])]) {
    if (!all.includes(name)) throw new UsageError(`There is no scope "${name}". A scope is one of: ${all.join(', ')}`);
  }
  const names = (scope === undefined ? all : [scope]).filter((name) => !left_out.includes(name));
  return { names, faults: whole('--faults', faults, 0, 9), json };
}

function usage(): string {
  const scopes = Object.entries(SCOPES).map(([name, { about }]) => `      ${name.padEnd(LONGEST)}  ${about}`);
  return `npm run explore -- [--scope NAME] [--except NAMES] [--faults N] [--json]

Runs the deployed code through every order of its calls and every ending of each, in small worlds (docs/testing.md).

  --scope NAME    one of these; all unless given:
${scopes.join('\n')}
  --except NAMES  leaves these out, separated by commas
  --faults N      most faults of a history, 0 to 9; 1 unless given
  --json          prints an object per scope, with the story of each violation

Exit code 1 when a promise is broken or a scope takes over an hour, 2 for wrong options.
`;
}
