import type { Command } from 'commander';
import { OperatorError } from '../../../terminal/errors.ts';
import { fields, table } from '../../../terminal/table.ts';
import { UnreadableFileError } from '../spool-file.ts';
import { findFile, onSpool, type SpoolContext, type SpoolSession } from './session.ts';
import { fileView, type ItemView, itemView } from './spool-view.ts';

export function addSpoolShow(program: Command, context: SpoolContext): void {
  const command = program
    .command('show')
    .argument('<FILE>', 'a name from `list`')
    .description('show what is in a file; never recipients or content')
    .addHelpText('after', '\nThe items of an encrypted file are shown only with NOTIFICATION_SPOOL_KEY.');
  onSpool(command, context, (session, _, [file = '']) => show(session, file));
}

async function show(session: SpoolSession, name: string): Promise<number> {
  const { spool, json, terminal } = session;
  const found = await findFile(session, name);
  const view = fileView(found);
  const items = found.header === undefined ? undefined : await itemsOf(session, found.folder, found.file);
  if (json) terminal.print(`${JSON.stringify({ ...view, path: spool.pathOf(found.folder, found.file), items })}\n`);
  else {
    terminal.print(fields(Object.entries(view), terminal.colors));
    if (items) terminal.print(`\n${describe(items, terminal)}`);
    else terminal.say('The items cannot be read: the key is not configured, or the file is not complete.\n');
  }
  return 0;
}

async function itemsOf({ spool }: SpoolSession, folder: 'spool' | 'failed', file: string) {
  try {
    return spool.open(await spool.read(folder, file)).map(itemView);
  } catch (error) {
    if (error instanceof UnreadableFileError) return undefined;
    throw new OperatorError(`${file}: ${(error as Error).message}.`);
  }
}

function describe(items: readonly ItemView[], { colors }: SpoolSession['terminal']): string {
  const ofNotification = (name: 'channel' | 'priority' | 'notification_id' | 'bytes') => (item: ItemView) =>
    name in item ? (item as Extract<ItemView, { kind: 'notification' }>)[name] : undefined;
  return table<ItemView>(
    [
      { title: 'kind', of: ({ kind }) => kind },
      { title: 'channel', of: ofNotification('channel') },
      { title: 'priority', of: ofNotification('priority') },
      { title: 'notification_id', of: ofNotification('notification_id') },
      { title: 'bytes', of: ofNotification('bytes') },
      {
        title: 'refused for',
        of: ({ problem }) =>
          problem &&
          [problem.type.split(':').at(-1), ...problem.errors.map(({ path, rule }) => `${path} ${rule}`)].join(' '),
      },
      { title: 'idempotency key', of: ({ idempotency_key }) => idempotency_key },
    ],
    items,
    colors,
  );
}
