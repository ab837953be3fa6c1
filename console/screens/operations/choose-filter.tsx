import { useState } from 'preact/hooks';
import { CHANNELS, PRIORITIES } from '../../../src/core/model/channels.ts';
import { ERROR_TYPES } from '../../../src/core/model/error-types.ts';
import type { OperationFilter } from '../../../src/operator-service/contract/operations.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Select } from '../../parts/select.tsx';
import { channelName } from '../../parts/words.ts';

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
    <Dialog
      title="New operation: which notifications?"
      onClose={onClose}
      actions={
        <>
          <button type="button" class="button" onClick={onClose}>
            Leave it
          </button>
          <button type="button" class="button primary" disabled={!isChosen} onClick={() => onChosen(filter)}>
            Next
          </button>
        </>
      }
    >
      <div class="form">
        <div class="filters">
          <Select
            label="Channel"
            value={filter.channel}
            options={CHANNELS}
            all="Any channel"
            nameOf={channelName}
            onChange={(channel) => set({ channel })}
          />
          <Select
            label="Priority"
            value={filter.priority}
            options={PRIORITIES}
            all="Any priority"
            onChange={(priority) => set({ priority })}
          />
          <Select
            label="Error"
            value={filter.error_type}
            options={ERROR_TYPES}
            all="Any error"
            onChange={(error_type) => set({ error_type })}
          />
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
    </Dialog>
  );
}

function given(filter: object): OperationFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}
