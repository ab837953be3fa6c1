import type { ChannelFigures, Overview } from '../../../src/application/contract/overview.ts';
import { count, t } from '../../language/language.ts';
import { hrefOf } from '../../navigation/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Panel } from '../../parts/screen.tsx';
import type { Column } from '../../parts/table.tsx';
import { about, Time } from '../../parts/time.tsx';
import { channelName } from '../../parts/words.ts';

interface PlainTableProps<T> {
  readonly columns: readonly (Pick<Column<T>, 'title' | 'align' | 'cell'> & { readonly wide?: true })[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
}

/** A few rows that are all drawn; the first column names each of them. */
function PlainTable<T>({ columns, rows, keyOf }: PlainTableProps<T>) {
  const classOf = ({ align, wide }: (typeof columns)[number]) =>
    [align && 'number', wide && 'wide-only'].filter(Boolean).join(' ') || undefined;
  return (
    <table class="plain">
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.title} scope="col" class={classOf(column)}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map((column, i) =>
              i === 0 ? (
                <th key={column.title} scope="row">
                  {column.cell(row)}
                </th>
              ) : (
                <td key={column.title} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const FIGURES = [
  { title: t('Due'), name: 'due', status: 'due' },
  { title: t('In flight'), name: 'in_flight', status: 'in_flight' },
  { title: t('Held'), name: 'held', status: 'held' },
  { title: t('Waiting'), name: 'waiting', status: 'waiting' },
  { title: t('Dead'), name: 'dead', status: 'dead' },
] as const;

export function Channels({ channels }: { readonly channels: readonly ChannelFigures[] }) {
  return (
    <Panel title={t('By channel')}>
      <PlainTable
        rows={channels}
        keyOf={({ channel }) => channel}
        columns={[
          { title: t('Channel'), cell: ({ channel }) => channelName(channel) },
          ...FIGURES.map(({ title, name, status }) => ({
            title,
            align: 'right' as const,
            cell: ({ channel, estimated, [name]: value }: ChannelFigures) =>
              value === 0 ? (
                <span class="faint">0</span>
              ) : (
                <a href={hrefOf('/notifications', { status, channel })} class={name === 'dead' ? 'is-bad' : undefined}>
                  {estimated ? about(value) : count(value)}
                </a>
              ),
          })),
          {
            title: t('Oldest due'),
            align: 'right',
            wide: true,
            cell: ({ oldest_due_at }) => <Time at={oldest_due_at} />,
          },
        ]}
      />
    </Panel>
  );
}

const SWEEPS = 5;

export function Sweeps({ sweeps }: { readonly sweeps: Overview['sweeps'] }) {
  return (
    <Panel title={t('Last sweeps')}>
      {sweeps.length === 0 ? (
        <p class="inset soft">
          {t('The schedule has run none in the last 30 days. Runs of the job on somebody’s machine are not listed.')}
        </p>
      ) : (
        <PlainTable
          rows={sweeps.slice(0, SWEEPS)}
          keyOf={({ run_id }) => run_id}
          columns={[
            { title: t('Started'), cell: ({ started_at }) => <Time at={started_at} /> },
            { title: t('Due'), align: 'right', cell: ({ due }) => count(due) },
            { title: t('Sent to lanes'), align: 'right', wide: true, cell: ({ dispatched }) => count(dispatched) },
            { title: t('Skipped'), align: 'right', wide: true, cell: ({ skipped }) => count(skipped) },
            {
              title: t('State'),
              cell: ({ complete }) => (
                <Badge tone={complete ? 'good' : 'wait'}>{complete ? t('Complete') : t('Incomplete')}</Badge>
              ),
            },
          ]}
        />
      )}
    </Panel>
  );
}
