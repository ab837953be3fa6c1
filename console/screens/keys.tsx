import { useContext, useState } from 'preact/hooks';
import type { KeyView } from '../../src/application/contract/keys.ts';
import { write } from '../data/api.ts';
import { SessionContext } from '../data/session.ts';
import { useList } from '../data/use-list.ts';
import { count, rich, t } from '../language/language.ts';
import type { Word } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Decision } from '../parts/dialog.tsx';
import { ScreenFrame } from '../parts/screen.tsx';
import { OpsCommands } from '../parts/shell-command.tsx';
import { type Column, ListTable, stateColumn } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { showToast } from '../parts/toasts.tsx';
import { NewKey } from './keys/new-key.tsx';

const STATES: Readonly<Record<KeyView['state'], Word>> = {
  valid: { name: t('Valid'), tone: 'good' },
  expired: { name: t('Expired'), tone: 'wait' },
  revoked: { name: t('Revoked'), tone: 'none' },
};

function columns(onRevoke: ((key: KeyView) => void) | undefined): readonly Column<KeyView>[] {
  const shown: readonly Column<KeyView>[] = [
    stateColumn(t('State'), '6.5rem', ({ state }) => STATES[state]),
    { title: t('Key'), width: '8.5rem', narrow: 'head', cell: ({ key_id }) => <span class="mono">{key_id}</span> },
    {
      title: t('Description'),
      width: 'minmax(8rem, 3fr)',
      narrow: 'head',
      cell: ({ description }) => description ?? '–',
    },
    { title: t('Tenant'), width: 'minmax(5.5rem, 1fr)', narrow: 'line', cell: ({ tenant_id }) => tenant_id },
    { title: t('May'), width: 'minmax(7rem, 2fr)', narrow: 'line', cell: ({ scopes }) => scopes.join(', ') },
    {
      title: t('Per second'),
      yields: 1,
      width: '4.5rem',
      align: 'right',
      cell: ({ rate_limit }) =>
        rate_limit === undefined ? <span class="faint">{t('default')}</span> : count(rate_limit),
    },
    {
      title: t('Created'),
      yields: 2,
      width: '6rem',
      align: 'right',
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      title: t('Ends'),
      yields: 3,
      width: '6rem',
      align: 'right',
      cell: ({ revoked_at, expires_at }) =>
        (revoked_at ?? expires_at) ? <Time at={revoked_at ?? expires_at} /> : <span class="faint">{t('never')}</span>,
    },
  ];
  if (onRevoke === undefined) return shown;
  return [
    ...shown,
    {
      title: t('Action'),
      width: '3.5rem',
      align: 'right',
      narrow: 'line',
      cell: (key) =>
        key.state === 'valid' && (
          <Button name={t('Revoke')} more={key.key_id} kind="link" onClick={() => onRevoke(key)} />
        ),
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
      title={t('Keys')}
      lead={t(
        'Producers identify themselves to the API by a key. A key belongs to one tenant; its secret is shown once.',
      )}
      actions={operator && <Button name={t('New key')} icon="plus" kind="primary" onClick={() => setAsked('new')} />}
    >
      <ListTable
        label={t('Keys')}
        columns={columns(operator ? setAsked : undefined)}
        list={list}
        empty={{
          icon: 'keys',
          title: t('No keys yet'),
          text: t('Make one for each producer that hands notifications over by the API.'),
        }}
      />
      <OpsCommands of={{ [t('The same list')]: 'keys list' }} />
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
    showToast('done', t('{key_id} is revoked.', { key_id }));
    onClose();
  };
  return (
    <Decision
      title={t('Revoke the key?')}
      onClose={onClose}
      keep={t('Keep it')}
      act={t('Revoke key')}
      danger
      run={revoke}
      ops={`keys revoke ${key_id}`}
    >
      <p>
        {rich(
          'Requests of {tenant_id} with {key_id} are refused from then on, within a minute everywhere. This cannot be taken back.',
          { tenant_id, key_id: <code>{key_id}</code> },
        )}
      </p>
    </Decision>
  );
}
