import * as fs from 'node:fs/promises';
import { type Chosen, choice, value } from '../../../terminal/command.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseDuration } from '../../../terminal/option-values.ts';
import { confirm, printResult } from '../../../terminal/output.ts';
import { nameFault } from '../spool-names.ts';
import type { Listed } from '../spool-reader.ts';
import { findFile, onSpool, type SpoolSession, withLock } from './session.ts';

const OPTIONS = {
  '--folder <F>': choice('the folder for --all or --older-than', ['spool', 'failed'], 'failed'),
  '--older-than <D>': value(
    'files whose first attempt was longer ago (30d); for faulty files, their age',
    parseDuration,
  ),
  '--all': 'all files of the folder',
  '--yes': 'skip the confirmation',
} as const;

export const addSpoolClean = onSpool({
  name: 'clean',
  says: 'delete files and the notifications in them; this cannot be undone',
  args: { '[FILE...]': 'names from `list`' },
  options: OPTIONS,
  help: (command) => `\nExample:\n  ${command} clean --older-than 30d`,
  async run(session, options, names) {
    const { terminal } = session;
    const chosen = await choose(session, options, names);
    const count = chosen.reduce((sum, { header }) => sum + (header?.notifications ?? 0), 0);
    if (chosen.length === 0) {
      printResult(session, { deleted: [] }, () => 'Nothing to delete.\n');
      return;
    }
    const question = `Delete ${chosen.length} files with ${count} notifications, which are then never sent?`;
    if (!(await confirm(question, options.yes, session))) return;
    const deleted = await withLock(session, () => removeUnchanged(session, chosen));
    if (deleted.length < chosen.length) {
      terminal.say(
        `${chosen.length - deleted.length} files were moved or sent again in the meantime, and are left alone.\n`,
      );
    }
    printResult(session, { deleted }, () => `${deleted.length} files deleted.\n`);
  },
});

/** Removes the files that did not change while the operator was asked. @returns their names */
async function removeUnchanged({ spool }: SpoolSession, chosen: readonly Listed[]): Promise<string[]> {
  const identity = ({ folder, file, header }: Listed) => `${folder} ${file} ${header?.firstAttempt}`;
  const listed = [...(await spool.list('spool')), ...(await spool.list('failed'))];
  const there = new Set(listed.map(identity));
  const unchanged = chosen.filter((entry) => there.has(identity(entry)));
  for (const { folder, file } of unchanged) await spool.remove(folder, file);
  return unchanged.map(({ file }) => file);
}

async function choose(
  session: SpoolSession,
  options: Chosen<typeof OPTIONS>,
  names: readonly string[],
): Promise<Listed[]> {
  const { folder, olderThan, all } = options;
  if ([names.length > 0, olderThan !== undefined, all === true].filter(Boolean).length !== 1) {
    throw new OperatorError('Choose the files: FILEs, --older-than or --all.', EXIT_USAGE);
  }
  if (names.length > 0) return Promise.all(names.map((name) => named(session, name)));
  const listed = (await session.spool.list(folder)).filter(({ file }) => nameFault(folder, file) === undefined);
  if (olderThan === undefined) return listed;
  const before = session.clock().getTime() - olderThan;
  const ages = await Promise.all(listed.map((entry) => firstAttempt(session, entry)));
  return listed.filter((_, i) => (ages[i] ?? Number.POSITIVE_INFINITY) < before);
}

async function named(session: SpoolSession, name: string): Promise<Listed> {
  const found = await findFile(session, name);
  const because = nameFault(found.folder, found.file);
  if (because !== undefined) throw new OperatorError(`${found.file} is not deleted: ${because}.`);
  return found;
}

async function firstAttempt({ spool }: SpoolSession, { folder, file, header }: Listed): Promise<number> {
  return header ? Date.parse(header.firstAttempt) : (await fs.stat(spool.pathOf(folder, file))).mtimeMs;
}
