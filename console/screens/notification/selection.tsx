import { useState } from 'preact/hooks';
import { ACTIONS, type Action, MOST_CHOSEN } from '../../../src/application/contract/choices.ts';
import type { NotificationView } from '../../../src/core/operator/views/notification-view.ts';
import { count, rich, t } from '../../language/language.ts';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/table.tsx';
import { KIND_WORDS, columnText as text } from '../../parts/words.ts';
import { AskAction } from './actions.tsx';

/** The rows that were ticked, as they were shown then. */
export type Chosen = ReadonlyMap<string, NotificationView>;

/** The column of ticks. */
export function choice(
  chosen: Chosen,
  onChange: (chosen: Chosen) => void,
  rows: readonly NotificationView[],
): Column<NotificationView> {
  const most = rows.slice(0, MOST_CHOSEN);
  const all = most.length > 0 && most.every((row) => chosen.has(text(row, 'log_id')));
  const toggle = (row: NotificationView) => {
    const next = new Map(chosen);
    if (!next.delete(text(row, 'log_id')) && next.size < MOST_CHOSEN) next.set(text(row, 'log_id'), row);
    onChange(next);
  };
  return {
    title: t('Select'),
    width: '1.25rem',
    narrow: 'head',
    head: (
      <input
        type="checkbox"
        aria-label={rows.length > MOST_CHOSEN ? t('Select the first {n}', { n: MOST_CHOSEN }) : t('Select all')}
        checked={all}
        onChange={() => onChange(new Map(all ? [] : most.map((row) => [text(row, 'log_id'), row])))}
      />
    ),
    cell: (row) => (
      <input
        type="checkbox"
        aria-label={t('Select {log_id}', { log_id: text(row, 'log_id') })}
        checked={chosen.has(text(row, 'log_id'))}
        tabIndex={-1}
        onChange={() => toggle(row)}
      />
    ),
  };
}

/** The states from which an action leads on. */
const ACTS_ON: Readonly<Record<Action, readonly string[]>> = {
  redrive: ['dead'],
  retry: ['due', 'waiting', 'held', 'abandoned', 'stopped'],
  cancel: ['due', 'waiting', 'held', 'abandoned'],
  give_up: ['dead'],
};

interface ActOnChosenProps {
  readonly chosen: Chosen;
  readonly onClear: () => void;
  readonly onDone: () => void;
}

/** What can be done with the rows that were ticked: with those only, and as they were shown. */
export function ActOnChosen({ chosen, onClear, onDone }: ActOnChosenProps) {
  const [asked, setAsked] = useState<{ readonly action: Action; readonly rows: readonly NotificationView[] }>();
  const offered = ACTIONS.flatMap((action) => {
    const rows = [...chosen.values()].filter(({ state }) => ACTS_ON[action].includes(state));
    return rows.length === 0 ? [] : [{ action, rows }];
  });
  return (
    <section class="chosen-bar" aria-label={t('Selected notifications')}>
      <strong role="status">{rich('{n} selected', { n: count(chosen.size) })}</strong>
      {offered.map(({ action, rows }) => (
        <Button
          key={action}
          name={t('{action} {n}', { action: KIND_WORDS[action].name, n: count(rows.length) })}
          kind={action === 'redrive' ? 'primary' : 'plain'}
          onClick={() => setAsked({ action, rows })}
        />
      ))}
      {offered.length === 0 && (
        <span class="soft">{t('Nothing can be done with them: they are delivered or being sent.')}</span>
      )}
      <Button name={t('Clear')} kind="link" onClick={onClear} />
      {asked !== undefined && (
        <AskAction
          action={asked.action}
          log_ids={asked.rows.map((row) => text(row, 'log_id'))}
          shown={Object.fromEntries(
            asked.rows.flatMap((row) => (row['updated_at'] ? [[text(row, 'log_id'), text(row, 'updated_at')]] : [])),
          )}
          onClose={() => setAsked(undefined)}
          onDone={() => {
            onClear();
            onDone();
          }}
        />
      )}
    </section>
  );
}
