import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../project-root.ts';

/** A command as bash finds it in what a document, a message or a comment suggests. */
export interface ShellCommand {
  readonly where: string;
  readonly words: readonly string[];
}

const DOCUMENTS = ['*.md', 'docs/**/*.md', '{lib,src,examples}/**/*.md'];
const SOURCES = ['{bin,lib,functions,src,console,tools}/**/*.{ts,tsx}'];
const COMMANDS = '(?:aws|npx|npm (?:run|start|ci|test|install|pack)|curl|terraform|git|node) ';

/** Nothing is executed: bash expands each script, and each command that it would start is written down. */
const RECORDER = `
PATH=/nonexistent
date() { echo 1767225600; }
command_not_found_handle() { printf '%s\\0' "$at" "$@" $'\\x1e' >> "$commands"; echo WORD; }
while IFS= read -r -d '' at && IFS= read -r -d '' script; do ( eval "$script" ) </dev/null >/dev/null 2>&1; done`;

/** All of them. What a document leaves open is called VALUE, WORD or as its variable. */
export function shellCommands(): ShellCommand[] {
  const scripts = [...filesOf(DOCUMENTS).flatMap(inDocument), ...filesOf(SOURCES).flatMap(inSource)];
  const directory = mkdtempSync(join(tmpdir(), 'shell-lines-'));
  const commands = join(directory, 'commands');
  execFileSync('bash', ['--norc', '-c', RECORDER], {
    cwd: directory,
    env: { commands },
    input: scripts.map(({ where, script }) => `${where}\0${script}\0`).join(''),
  });
  return readFileSync(commands, 'utf8')
    .split('\0\x1e\0')
    .filter(Boolean)
    .map((one) => one.split('\0'))
    .map(([where = '', ...words]) => ({ where, words }));
}

const filesOf = (patterns: readonly string[]) =>
  globSync([...patterns], { cwd: PROJECT_ROOT })
    .filter((file) => !/CHANGELOG|docs.decisions|node_modules|^dist/.test(file))
    .map((file) => ({ file, text: readFileSync(join(PROJECT_ROOT, file), 'utf8') }));

interface Text {
  readonly file: string;
  readonly text: string;
}

interface Script {
  readonly where: string;
  readonly script: string;
}

/** The blocks of a document are one session, as a reader has it; what stands within a sentence is a line of its own. */
function inDocument({ file, text }: Text): Script[] {
  const blocks = [...text.matchAll(/^```(?:sh|cron)\n(.*?)^```/gms)].map(([, block = '']) =>
    block.replaceAll(/^(?:[\d*]+ ){5}/gm, ''),
  );
  const sentences = text.replaceAll(/^```.*?^```/gms, '');
  const inline = [...sentences.matchAll(new RegExp(`\`(${COMMANDS}[^\`]+)\``, 'g'))].map(([, line = '']) => line);
  const functions = blocks.flatMap((block) => /^\w+\(\) \{.*?\}$/ms.exec(block)?.[0] ?? []);
  return [blocks.join('\n'), ...inline.map((line) => [...functions, line].join('\n'))].map((script) => ({
    where: file,
    script: filled(script),
  }));
}

/** A line of AWS that ends with an option gets its value where it is used. A form of use is no line. */
function inSource({ file, text }: Text): Script[] {
  return [...text.matchAll(new RegExp(`(?:[\`'"(]|[:;] |^ +)(${COMMANDS}[^\`'"\\n]+)`, 'gm'))]
    .map(([, line = '']) =>
      line
        .replace(/\\n?$/, '')
        .replace(/^aws .* --[a-z-]+$/, (all) => `${all.replaceAll('; ', ' VALUE; ')} VALUE`)
        .replace(/^(aws .* s3:\/\/)$/, '$1value'),
    )
    .filter((line) => !line.includes('['))
    .map((line) => ({ where: file, script: filled(line) }));
}

/** What stands for a value: `<ARN of the queue>`, `${name}` of a template in TypeScript, an ellipsis, an unset variable. */
function filled(script: string): string {
  const names = new Set([...script.matchAll(/\$([A-Z_]{2,})/g)].map(([, name = '']) => name));
  const values = [...names].filter((name) => name !== 'PATH').map((name) => `${name}=${name}`);
  const text = script
    .replaceAll(/(-time )…/g, '$12026-11-23T10:00:00Z')
    .replaceAll(/<[A-Za-z][^<>\n]*>/g, 'VALUE')
    .replaceAll(/\$\{[\w.]+\}/g, 'VALUE')
    .replaceAll('…', 'VALUE');
  return [...values, text].join('\n');
}
