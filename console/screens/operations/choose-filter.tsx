import { useState } from 'preact/hooks';
import type { OperationFilter } from '../../../src/operator-service/contract/operations.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { ConditionSelects } from '../../parts/select.tsx';
import { given } from '../notification-filters.ts';

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
      title="New operation: which notifications?"
      onClose={onClose}
      act="Next"
      disabled={!isChosen}
      onAct={() => onChosen(filter)}
    >
      <div class="form rows">
        <div class="line">
          <ConditionSelects values={filter} onChange={set} />
        </div>
        <Field label="Tenant" name="tenant" onInput={(tenant) => set({ tenant: tenant.trim() || undefined })} />
        <label class="choice">
          <input
            type="checkbox"
            checked={everything}
            onChange={({ currentTarget }) => setEverything(currentTarget.checked)}
          />
          <span>
            <strong>Everything</strong>
            <span class="soft">Without a filter it takes all notifications of the stage.</span>
          </span>
        </label>
      </div>
    </Confirm>
  );
}
