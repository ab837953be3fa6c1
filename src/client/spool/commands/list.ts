import { type Command, Option } from 'commander';
import { ago, table } from '../../../terminal/table.ts';
import type { Folder } from '../spool-names.ts';
import { onSpool, type SpoolContext, type SpoolSession } from './session.ts';
import { type FileView, fileView } from './spool-view.ts';

interface ListOptions {
  readonly folder?: Folder;
}

export function addSpoolList(program: Command, context: SpoolContext): void {
  const command = program
    .command('list')
    .description('list the files that wait in the spool, and those that were given up')
    .addOption(folderOption('only this folder'))
    .addHelpText('after', `\nExamples:\n  ${context.command} list\n  ${context.command} list --folder failed --json`);
  onSpool<ListOptions>(command, context, list);
}

export function folderOption(description: string): Option {
  return new Option('--folder <F>', description).choices(['spool', 'failed']);
}

async function list({ spool, json, terminal, clock }: SpoolSession, { folder }: ListOptions): Promise<number> {
  const folders = (['spool', 'failed'] as const).filter((name) => folder === undefined || name === folder);
  const files = (await Promise.all(folders.map((name) => spool.list(name)))).flat().map(fileView);
  if (json) terminal.print(`${JSON.stringify({ files })}\n`);
  else if (files.length > 0) terminal.print(describe(files, clock(), terminal));
  else terminal.say(`Nothing is in ${folders.map((name) => spool.folders[name]).join(' or ')}: nothing to do.\n`);
  return 0;
}

function describe(files: readonly FileView[], now: Date, { colors }: SpoolSession['terminal']): string {
  const whole = (of: (file: Extract<FileView, { notifications: number }>) => string | number) => (file: FileView) =>
    'notifications' in file ? of(file) : undefined;
  return table<FileView>(
    [
      { title: 'folder', of: ({ folder }) => folder },
      { title: 'file', of: ({ file }) => file },
      { title: 'state', of: ({ state }) => state },
      { title: 'notifications', of: whole(({ notifications }) => notifications) },
      { title: 'first attempt', of: whole(({ first_attempt }) => ago(first_attempt, now)) },
      { title: 'retries', of: whole(({ retry_count }) => retry_count) },
      { title: 'last error', of: (file) => ('fault' in file ? file.fault : file.last_error) },
    ],
    files,
    colors,
  );
}
