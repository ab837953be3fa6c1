import type { OperationFilter } from '../../../src/operator-service/contract/operations.ts';
import { localTime } from '../../parts/time.tsx';
import { channelName } from '../../parts/words.ts';

const NAMES: Readonly<Record<keyof OperationFilter, string>> = {
  channel: 'Channel',
  priority: 'Priority',
  tenant: 'Tenant',
  failure_reason: 'Given up because of',
  error_type: 'Error',
  last_error: 'Last error',
  integration: 'Integration',
  recipient_hash: 'Recipient',
  from: 'Created since',
  to: 'Created until',
};

/** The conditions of a filter as chips. */
export function FilterWords({ filter }: { readonly filter: OperationFilter }) {
  const conditions = (Object.keys(NAMES) as (keyof OperationFilter)[]).filter((name) => filter[name] !== undefined);
  if (conditions.length === 0) return <p class="line">Everything</p>;
  return (
    <ul class="line" aria-label="Filter">
      {conditions.map((name) => (
        <li key={name} class="chip-label">
          <span class="faint">{NAMES[name]}</span> {wordOf(name, String(filter[name]))}
        </li>
      ))}
    </ul>
  );
}

function wordOf(name: keyof OperationFilter, value: string): string {
  switch (name) {
    case 'channel':
      return channelName(value);
    case 'recipient_hash':
      return 'one';
    case 'from':
    case 'to':
      return localTime(value);
    default:
      return value;
  }
}
