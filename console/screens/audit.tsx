import { useMemo } from 'preact/hooks';
import { quoted } from '../../src/application/contract/choices.ts';
import type { AuditRecord } from '../../src/core/operator/audit.ts';
import { useList } from '../data/use-list.ts';
import { count, said, t } from '../language/language.ts';
import { hrefOf, usePlace } from '../navigation/router.ts';
import { Badge } from '../parts/badge.tsx';
import { ScreenFrame } from '../parts/screen.tsx';
import { Select } from '../parts/select.tsx';
import { OpsCommands } from '../parts/shell-command.tsx';
import { noResults } from '../parts/states.tsx';
import { type Column, ListTable } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';

const DAYS = ['30', '90'] as const;

function columns(): readonly Column<AuditRecord>[] {
  return [
    { title: t('When'), width: '6rem', narrow: 'head', cell: ({ at }) => <Time at={at} /> },
    {
      title: t('Who'),
      width: 'minmax(8rem, 1fr)',
      narrow: 'head',
      cell: ({ who, role }) => (
        <a class="truncate" href={hrefOf('/audit', { who })} title={`${who}, ${role}`}>
          {nameOf(who)}
        </a>
      ),
    },
    { title: t('What'), width: '9rem', narrow: 'line', cell: ({ what }) => <Cut text={wordOf(what)} /> },
    { title: t('On'), width: 'minmax(9rem, 2fr)', narrow: 'line', cell: (entry) => <Targets entry={entry} /> },
    {
      title: t('Details'),
      yields: 1,
      width: 'minmax(6rem, 2fr)',
      cell: ({ details }) => <Cut text={wordsOf(details)} />,
    },
    { title: t('Result'), yields: 2, width: 'minmax(7rem, 1fr)', cell: ({ result }) => <Result result={result} /> },
  ];
}

const Cut = ({ text }: { readonly text: string }) => (
  <span class="truncate" title={text}>
    {text}
  </span>
);

/** Of an ARN the person, who stands at its end. */
const nameOf = (who: string): string => (who.startsWith('arn:') ? who.slice(who.lastIndexOf('/') + 1) : who);

/** What an entry names by a code: `key.create`, `not_found`. */
function wordOf(code: string): string {
  const word = said(code);
  return word === code ? code.replaceAll(/[._]/g, ' ') : word;
}

/** JSON as a person reads it: `kind redrive, channel slack`. */
function wordsOf(details = '–'): string {
  const listed = (value: unknown) =>
    [value]
      .flat()
      .map((one) => said(String(one)))
      .join(' ');
  const flat = (value: unknown): string[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, one]) =>
          typeof one === 'object' && !Array.isArray(one) ? flat(one) : [`${wordOf(name)} ${listed(one)}`],
        )
      : [String(value)];
  try {
    return flat(JSON.parse(details)).join(', ');
  } catch {
    return details;
  }
}

function Targets({ entry: { on, targets } }: { readonly entry: AuditRecord }) {
  const [first] = on;
  if (first === undefined) return <span class="faint">–</span>;
  return (
    <span class="truncate">
      <a class="mono" href={hrefOf('/audit', { target: first })} title={on.join(', ')}>
        {first}
      </a>
      {targets > 1 && <span class="soft"> {t('and {n} more', { n: count(targets - 1) })}</span>}
    </span>
  );
}

function Result({ result }: { readonly result: AuditRecord['result'] }) {
  if (result === undefined)
    return (
      <Badge tone="wait" title={t('Its end is not known')}>
        {t('Begun')}
      </Badge>
    );
  // The table keeps no order of their names. What came of nothing is said where nothing came of anything.
  const all = Object.entries(result).sort();
  const some = all.filter(([, number]) => number !== 0);
  const words = (some.length > 0 ? some : all).map(([name, number]) =>
    t('{n} {what}', { n: count(number), what: wordOf(name) }),
  );
  return <Cut text={words.join(', ') || t('done')} />;
}

function auditCommand(filter: Readonly<Record<'days' | 'who' | 'what' | 'target', string | undefined>>): string {
  const { days, ...conditions } = filter;
  const options = Object.entries({ from: days && `${days}d`, ...conditions });
  return ['audit', ...options.flatMap(([name, value]) => (value ? [`--${name} ${quoted(value)}`] : []))].join(' ');
}

export function AuditScreen() {
  const { query, set } = usePlace();
  const who = query.get('who') || undefined;
  const what = query.get('what') || undefined;
  const target = query.get('target') || undefined;
  const days = DAYS.find((option) => option === query.get('days'));
  const from = useMemo(
    () => (days === undefined ? undefined : new Date(Date.now() - Number(days) * 86_400_000).toISOString()),
    [days],
  );
  const list = useList({
    route: 'GET /api/audit',
    query: { who, what, target, from, limit: '100' } as Record<string, string>,
    rowsOf: (page) => page.entries,
    keyOf: ({ audit_id }: AuditRecord) => audit_id,
  });
  const kinds = [...new Set([...(what === undefined ? [] : [what]), ...list.rows.map((entry) => entry.what)])].sort();
  return (
    <ScreenFrame
      wide
      title={t('Audit log')}
      lead={t('Every change and every look at a recipient. Entries can be read, never changed.')}
    >
      <div class="line">
        <Select
          label={t('Period')}
          value={days}
          options={DAYS}
          all={t('Last 7 days')}
          nameOf={(option) => t('Last {n} days', { n: option })}
          onChange={(chosen) => set({ days: chosen })}
        />
        <Select
          label={t('What')}
          value={what}
          options={kinds}
          all={t('Anything')}
          nameOf={wordOf}
          onChange={(chosen) => set({ what: chosen })}
        />
        {(who ?? target) !== undefined && (
          <a class="clear" href="/audit">
            {t('Only {target}: show all', { target: who ?? target ?? '' })}
          </a>
        )}
      </div>
      <ListTable
        label={t('Audit entries')}
        columns={columns()}
        list={list}
        empty={
          (who ?? what ?? target) === undefined
            ? {
                icon: 'audit',
                title: t('Nothing was done in this time'),
                text: t(
                  'What operators do in the console and by commands is written down when they do it. AWS CloudTrail has what they do otherwise.',
                ),
              }
            : noResults('/audit')
        }
      />
      <OpsCommands of={{ [t('The same list')]: auditCommand({ days, who, what, target }) }} />
    </ScreenFrame>
  );
}
