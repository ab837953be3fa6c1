import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../project-root.ts';

/**
 * The text below a heading of the second level, up to the next one.
 * @throws Error when the document has no such heading
 */
export function sectionOf(file: string, heading: string): string {
  const text = readFileSync(join(PROJECT_ROOT, file), 'utf8');
  const [, section] = text.split(`\n## ${heading}\n`);
  if (section === undefined) throw new Error(`${file} has no section "${heading}"`);
  return section.split('\n## ')[0] ?? '';
}

/** The runbook about the operators' commands and their rights. */
export const OPERATOR_SECTION = sectionOf('docs/runbook.md', 'Operator commands');

/** What all commands need beside the table of commands, and on which resources. */
export const OPERATOR_RIGHTS = OPERATOR_SECTION.slice(OPERATOR_SECTION.indexOf('**Rights.**'));

/** The actions in the last column of its table of commands, sorted, by command. */
export const OPERATOR_COMMANDS: ReadonlyMap<string, readonly string[]> = new Map(
  [...OPERATOR_SECTION.matchAll(/^\| ?`([\w ]+)` \|.*\| ?([^|]*?) ?\|$/gm)].map(([, command = '', rights = '']) => [
    command,
    [...rights.matchAll(/`(\w+:\w+)`/g)].map(([, action = '']) => action).sort(),
  ]),
);
