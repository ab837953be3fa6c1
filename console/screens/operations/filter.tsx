import { useState } from 'preact/hooks';
import { CONDITIONS, type ConditionName } from '../../../src/application/contract/choices.ts';
import type { OperationFilter } from '../../../src/application/contract/operations.ts';
import { said, t } from '../../language/language.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { ConditionSelects } from '../../parts/select.tsx';
import { localTime } from '../../parts/time.tsx';
import { channelName } from '../../parts/words.ts';
import { given } from '../notification-filters.ts';

const NAMES = Object.keys(CONDITIONS) as ConditionName[];

/** Where it is not the value itself. */
const WORD_OF: { readonly [K in keyof OperationFilter]?: (value: string) => string } = {
  channel: channelName,
  recipient_hash: () => t('one'),
  from: localTime,
  to: localTime,
};

export function FilterWords({ filter }: { readonly filter: OperationFilter }) {
  const conditions = NAMES.filter((name) => filter[name] !== undefined);
  if (conditions.length === 0) return <p class="line">{t('Everything')}</p>;
  return (
    <ul class="line" aria-label={t('Filter')}>
      {conditions.map((name) => (
        <li key={name} class="chip-label line">
          <span class="faint">{said(CONDITIONS[name].label)}</span> {(WORD_OF[name] ?? String)(String(filter[name]))}
        </li>
      ))}
    </ul>
  );
}

interface ChooseFilterProps {
  readonly onChosen: (filter: OperationFilter) => void;
  readonly onClose: () => void;
}

/** The first step of a new operation: which notifications. Everything at once has to be said. */
export function ChooseFilter({ onChosen, onClose }: ChooseFilterProps) {
  const [filter, setFilter] = useState<OperationFilter>({});
  const [everything, setEverything] = useState(false);
  const set = (change: { readonly [K in keyof OperationFilter]?: OperationFilter[K] | undefined }) =>
    setFilter((before) => given({ ...before, ...change }));
  const isChosen = everything || Object.keys(filter).length > 0;
  return (
    <Confirm
      title={t('New operation: which notifications?')}
      onClose={onClose}
      act={t('Next')}
      because={isChosen ? undefined : t('Choose a condition, or everything.')}
      onAct={() => onChosen(filter)}
    >
      <div class="rows">
        <div class="line">
          <ConditionSelects values={filter} onChange={set} />
        </div>
        <Field label={t('Tenant')} name="tenant" onInput={(tenant) => set({ tenant: tenant.trim() || undefined })} />
        <label class="choice">
          <input
            type="checkbox"
            checked={everything}
            onChange={({ currentTarget }) => setEverything(currentTarget.checked)}
          />
          <span>
            <strong>{t('Everything')}</strong>
            <span class="soft">{t('Without a filter it takes all notifications of the stage.')}</span>
          </span>
        </label>
      </div>
    </Confirm>
  );
}
