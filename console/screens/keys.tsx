import { useContext, useState } from 'preact/hooks';
import type { KeyView } from '../../src/application/contract/keys.ts';
import { write } from '../data/api.ts';
import { SessionContext } from '../data/session.ts';
import { useList } from '../data/use-list.ts';
import type { Word } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Decision } from '../parts/dialog.tsx';
import { ScreenFrame } from '../parts/screen.tsx';
import { OpsCommands } from '../parts/shell-command.tsx';
import { type Column, ListTable, stateColumn } from '../parts/table.tsx';
import { count, Time } from '../parts/time.tsx';
import { showToast } from '../parts/toasts.tsx';
import { NewKey } from './keys/new-key.tsx';

const STATES: Readonly<Record<KeyView['state'], Word>> = {
  valid: { name: 'Valid', tone: 'good' },
  expired: { name: 'Expired', tone: 'wait' },
  revoked: { name: 'Revoked', tone: 'none' },
};

function columns(onRevoke: ((key: KeyView) => void) | undefined): readonly Column<KeyView>[] {
  const shown: readonly Column<KeyView>[] = [
    stateColumn('State', '6.5rem', ({ state }) => STATES[state]),
    { title: 'Key', width: '8.5rem', narrow: 'head', cell: ({ key_id }) => <span class="mono">{key_id}</span> },
    { title: 'Description', width: 'minmax(8rem, 3fr)', narrow: 'head', cell: ({ description }) => description ?? '–' },
    { title: 'Tenant', width: 'minmax(5.5rem, 1fr)', narrow: 'line', cell: ({ tenant_id }) => tenant_id },
    { title: 'May', width: 'minmax(7rem, 2fr)', narrow: 'line', cell: ({ scopes }) => scopes.join(', ') },
    {
      title: 'Per second',
      yields: 1,
      width: '4.5rem',
      align: 'right',
      cell: ({ rate_limit }) => (rate_limit === undefined ? <span class="faint">default</span> : count(rate_limit)),
    },
    { title: 'Created', yields: 2, width: '6rem', align: 'right', cell: ({ created_at }) => <Time at={created_at} /> },
    {
      title: 'Ends',
      yields: 3,
      width: '6rem',
      align: 'right',
      cell: ({ revoked_at, expires_at }) =>
        (revoked_at ?? expires_at) ? <Time at={revoked_at ?? expires_at} /> : <span class="faint">never</span>,
    },
  ];
  if (onRevoke === undefined) return shown;
  return [
    ...shown,
    {
      title: 'Action',
      width: '3.5rem',
      align: 'right',
      narrow: 'line',
      cell: (key) =>
        key.state === 'valid' && <Button name="Revoke" more={key.key_id} kind="link" onClick={() => onRevoke(key)} />,
    },
  ];
}

export function KeysScreen() {
  const session = useContext(SessionContext);
  const [asked, setAsked] = useState<'new' | KeyView>();
  const operator = session.role === 'operator';
  const list = useList({
    route: 'GET /api/keys',
    query: {},
    rowsOf: (page) => page.keys,
    keyOf: ({ key_id }: KeyView) => key_id,
  });
  const close = () => {
    setAsked(undefined);
    list.refresh();
  };
  return (
    <ScreenFrame
      wide
      title="Keys"
      lead="Producers identify themselves to the API by a key. A key belongs to one tenant; its secret is shown once."
      actions={operator && <Button name="New key" icon="plus" kind="primary" onClick={() => setAsked('new')} />}
    >
      <ListTable
        label="Keys"
        columns={columns(operator ? setAsked : undefined)}
        list={list}
        empty={{
          icon: 'keys',
          title: 'No keys yet',
          text: 'Make one for each producer that hands notifications over by the API.',
        }}
      />
      <OpsCommands of={{ 'The same list': 'keys list' }} />
      {asked === 'new' && <NewKey onClose={close} />}
      {asked !== undefined && asked !== 'new' && <RevokeKey apiKey={asked} onClose={close} />}
    </ScreenFrame>
  );
}

/** `apiKey`, because `key` is Preact's own word. */
function RevokeKey({
  apiKey: { key_id, tenant_id },
  onClose,
}: {
  readonly apiKey: KeyView;
  readonly onClose: () => void;
}) {
  const revoke = async (request_id: string) => {
    await write('POST /api/keys/{key_id}/revoke', { key_id }, { request_id });
    showToast('done', `${key_id} is revoked.`);
    onClose();
  };
  return (
    <Decision
      title="Revoke the key?"
      onClose={onClose}
      keep="Keep it"
      act="Revoke key"
      danger
      run={revoke}
      ops={`keys revoke ${key_id}`}
    >
      <p>
        Requests of {tenant_id} with <code>{key_id}</code> are refused from then on, within a minute everywhere. This
        cannot be taken back.
      </p>
    </Decision>
  );
}
