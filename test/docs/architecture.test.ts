import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SCOPES } from '../../tools/simulation/explore/scopes.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

interface Rule {
  readonly name: string;
  readonly from: { readonly path?: string };
  readonly to: { readonly pathNot?: string };
}

const architecture = readFileSync(join(PROJECT_ROOT, 'docs/architecture.md'), 'utf8');
const rules: { forbidden: readonly Rule[] } = createRequire(import.meta.url)(
  join(PROJECT_ROOT, '.dependency-cruiser.cjs'),
);

it('draws the arrows between the rooms of the core as they are enforced', () => {
  expect(arrowsDrawn()).toEqual(arrowsEnforced());
});

it('has a line for each room of the core', () => {
  const listed = [...architecture.matchAll(/^\| ?`src\/core\/([\w-]+)\/` \|/gm)].map(([, room]) => room);
  expect(listed.sort()).toEqual(Object.keys(roomsEnforced()).sort());
});

it('names each function, and each folder of the construct', () => {
  const cell = (folder: string) => new RegExp(`^\\|\`${folder}\` \\|(.*)\\|$`, 'm').exec(architecture)?.[1] ?? '';
  const missing = (inside: string, text: string, ending = '') =>
    readdirSync(join(PROJECT_ROOT, inside), { withFileTypes: true })
      .filter((one) => one.isDirectory() && one.name !== 'shared' && !text.includes(`\`${one.name}${ending}\``))
      .map(({ name }) => name);

  expect(missing('functions', cell('functions/<name>/handler.ts'))).toEqual([]);
  expect(missing('lib/constructs', cell('lib/'), '/')).toEqual([]);
});

it('explores each scope that docs/testing.md counts, and counts each', () => {
  const testing = readFileSync(join(PROJECT_ROOT, 'docs/testing.md'), 'utf8');
  const [table = ''] = /^\|scope \|[\s\S]*?\n\n/m.exec(testing) ?? [];
  const counted = [...table.matchAll(/^\|((?:`[\w-]+`(?:, )?)+) \|/gm)].flatMap(([, names = '']) => names.split(', '));

  expect(counted.map((name) => name.replaceAll('`', '')).sort()).toEqual(Object.keys(SCOPES).sort());
});

/** Every room imports `model`, and the diagram draws that arrow only for the rooms right above it. */
function arrowsDrawn(): string[] {
  const diagram = /### The rooms of the core.*?```mermaid\n(.*?)```/s.exec(architecture)?.[1] ?? '';
  return [...diagram.matchAll(/^ *([\w-]+) --> ([\w-]+)$/gm)]
    .filter(([, , to]) => to !== 'model')
    .map(([, from, to]) => `${from} → ${to}`)
    .sort();
}

function arrowsEnforced(): string[] {
  return Object.entries(roomsEnforced())
    .flatMap(([room, allowed]) => allowed.filter((to) => to !== room && to !== 'model').map((to) => `${room} → ${to}`))
    .sort();
}

/** Each room of the core, and the rooms that it may import: itself included. */
function roomsEnforced(): Record<string, string[]> {
  const rooms = rules.forbidden.flatMap(({ from, to }) => {
    const room = /^\^src\/core\/([\w-]+)\/$/.exec(from.path ?? '')?.[1];
    const allowed = /^\^src\/core\/\(([\w|-]+)\)\/$/.exec(to.pathNot ?? '')?.[1];
    return room === undefined || allowed === undefined ? [] : [[room, allowed.split('|')] as const];
  });
  return Object.fromEntries(rooms);
}
