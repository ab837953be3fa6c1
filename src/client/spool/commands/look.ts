import { existsSync } from 'node:fs';
import { choice } from '../../../terminal/command.ts';
import { OperatorError } from '../../../terminal/errors.ts';
import { printList, printResult } from '../../../terminal/output.ts';
import { ago, fields, table } from '../../../terminal/table.ts';
import type { Item } from '../../handover/item.ts';
import { UnreadableFileError } from '../spool-file.ts';
import type { Listed } from '../spool-reader.ts';
import { findFile, onSpool, type SpoolSession } from './session.ts';

export const addSpoolList = onSpool({
  name: 'list',
  says: 'list the files that wait in the spool, and those that were given up',
  options: { '--folder <F>': choice('only this folder', ['spool', 'failed']) },
  help: (command) => `\nExamples:\n  ${command} list\n  ${command} list --folder failed --json`,
  async run(session, { folder }) {
    const { spool } = session;
    const now = session.clock();
    const folders = (['spool', 'failed'] as const).filter((name) => folder === undefined || name === folder);
    const files = (await Promise.all(folders.map((name) => spool.list(name)))).flat().map(fileView);
    const placeOf = (at: string) => (existsSync(at) ? at : `${at} (not there)`);
    const none = `Nothing is in ${folders.map((name) => placeOf(spool.folders[name])).join(' or ')}: nothing to do.`;
    printList(session, { files }, files, none, [
      'folder',
      'file',
      'state',
      ['notifications', (file) => ('fault' in file ? undefined : file.notifications)],
      ['first attempt', (file) => ('fault' in file ? undefined : ago(file.first_attempt, now))],
      ['retries', (file) => ('fault' in file ? undefined : file.retry_count)],
      ['last error', (file) => ('fault' in file ? file.fault : file.last_error)],
    ]);
  },
});

/** A file of the spool as an operator may see it: without recipients and content. */
function fileView({ folder, file, ...rest }: Listed) {
  if (rest.header === undefined) return { folder, file, state: 'faulty', fault: rest.fault.message } as const;
  const { firstAttempt, retryCount, notifications, lastError, keyId, givenUp } = rest.header;
  return {
    folder,
    file,
    state: givenUp?.because ?? (folder === 'spool' ? 'waiting' : 'given up'),
    notifications,
    first_attempt: firstAttempt,
    retry_count: retryCount,
    last_error: lastError.reason,
    last_error_at: lastError.at,
    encrypted: keyId !== undefined,
    ...(givenUp && { given_up_at: givenUp.at }),
  };
}

export const addSpoolShow = onSpool({
  name: 'show',
  says: 'show what is in a file; never recipients or content',
  args: { '<FILE>': 'a name from `list`' },
  help: () => '\nThe items of an encrypted file are shown only with NOTIFICATION_SPOOL_KEY.',
  async run(session, _, [name = '']) {
    const { spool, json, terminal } = session;
    const found = await findFile(session, name);
    const view = fileView(found);
    const items = found.header === undefined ? undefined : await itemsOf(session, found.folder, found.file);
    const path = spool.pathOf(found.folder, found.file);
    printResult(session, { ...view, path, items }, () =>
      [fields(Object.entries(view)), ...(items ? [describe(items)] : [])].join('\n'),
    );
    if (!json && items === undefined)
      terminal.say('The items cannot be read: the key is not configured, or the file is not complete.\n');
  },
});

async function itemsOf({ spool }: SpoolSession, folder: 'spool' | 'failed', file: string) {
  try {
    return spool.open(await spool.read(folder, file)).map(itemView);
  } catch (error) {
    if (error instanceof UnreadableFileError) return undefined;
    throw new OperatorError(`${file}: ${(error as Error).message}.`);
  }
}

/**
 * An item without recipient and content. The `detail` and the messages of a problem are omitted: they may quote them.
 */
function itemView(item: Item) {
  const { idempotency_key, problem } = item;
  const refusal = problem && {
    type: problem.type,
    status: problem.status,
    errors: (problem.errors ?? []).map(({ path, rule }) => ({ path, rule })),
  };
  if (item.kind === 'failure') return { kind: item.kind, idempotency_key, log_id: item.log_id, problem: refusal };
  const { channel, priority, notification_id, scheduled_at, body } = item.body;
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : undefined;
  return {
    kind: item.kind,
    idempotency_key,
    channel,
    priority,
    notification_id,
    scheduled_at,
    bytes,
    problem: refusal,
  };
}

type ItemView = ReturnType<typeof itemView>;

function describe(items: readonly ItemView[]): string {
  const ofNotification = (name: 'channel' | 'priority' | 'notification_id' | 'bytes') => (item: ItemView) =>
    item.kind === 'notification' ? item[name] : undefined;
  return table(items, [
    'kind',
    ['channel', ofNotification('channel')],
    ['priority', ofNotification('priority')],
    ['notification_id', ofNotification('notification_id')],
    ['bytes', ofNotification('bytes')],
    [
      'refused for',
      ({ problem }) =>
        problem &&
        [problem.type.split(':').at(-1), ...problem.errors.map(({ path, rule }) => `${path} ${rule}`)].join(' '),
    ],
    ['idempotency key', 'idempotency_key'],
  ]);
}
