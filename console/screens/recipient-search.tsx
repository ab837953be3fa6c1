import { useState } from 'preact/hooks';
import type { ProblemBody } from '../../src/operator-service/contract/fields.ts';
import { problemOf, write } from '../data/api.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Icon } from '../parts/icon.tsx';
import { Problem } from '../parts/states.tsx';
import type { ListFilters } from './notification-filters.ts';

interface RecipientSearchProps {
  readonly filters: ListFilters;
  /** Typed where ids are searched: the dialog opens with it. */
  readonly address: string | undefined;
  readonly onClosed: () => void;
  readonly onChange: (change: Partial<Record<string, string | undefined>>) => void;
}

/** What is no id but an address: of a mailbox, a URL, a Slack channel. */
export function isAddress(text: string): boolean {
  return /^[^\s@]+@[^\s@]+$|^https?:\/\/|^#/.test(text);
}

/** Finds what one recipient got. The address itself comes into no URL and no history: the API turns it into a hash. */
export function RecipientSearch({ filters, address, onClosed, onChange }: RecipientSearchProps) {
  const [asked, setOpen] = useState(false);
  const open = asked || address !== undefined;
  const { recipient_hash, tenant } = filters.api;
  if (recipient_hash !== undefined)
    return (
      <button type="button" class="chip" onClick={() => onChange({ recipient_hash: undefined, tenant: undefined })}>
        One recipient of {tenant}
        <Icon name="close" />
        <span class="visually-hidden">Remove this filter</span>
      </button>
    );
  return (
    <>
      <button type="button" class="filter-button" onClick={() => setOpen(true)}>
        By recipient…
      </button>
      {tenant !== undefined && (
        <button type="button" class="chip" onClick={() => onChange({ tenant: undefined })}>
          Tenant {tenant}
          <Icon name="close" />
          <span class="visually-hidden">Remove this filter</span>
        </button>
      )}
      {open && (
        <Ask
          tenant={tenant}
          recipient={address}
          onClose={() => {
            setOpen(false);
            onClosed();
          }}
          onFound={(found) => {
            setOpen(false);
            onClosed();
            onChange(found);
          }}
        />
      )}
    </>
  );
}

interface AskProps {
  readonly tenant: string | undefined;
  readonly recipient: string | undefined;
  readonly onClose: () => void;
  readonly onFound: (found: { readonly recipient_hash?: string; readonly tenant: string }) => void;
}

function Ask({ tenant, recipient: typed, onClose, onFound }: AskProps) {
  const [problem, setProblem] = useState<ProblemBody>();
  const submit = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const chosen = String(form.get('tenant')).trim();
    const recipient = String(form.get('recipient')).trim();
    if (recipient === '') return onFound({ tenant: chosen });
    try {
      onFound({ tenant: chosen, ...(await write('POST /api/recipient-hash', {}, { tenant: chosen, recipient })) });
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  return (
    <Dialog
      title="Find by tenant and recipient"
      onClose={onClose}
      actions={
        <button type="submit" form="recipient-search" class="button primary">
          Find
        </button>
      }
    >
      <form id="recipient-search" class="form" onSubmit={submit}>
        <Field
          label="Tenant"
          name="tenant"
          value={tenant}
          required
          hint="A recipient is known within one tenant only."
        />
        <Field
          label="Recipient"
          name="recipient"
          value={typed}
          hint="The exact address, channel or URL. Leave it empty for everything of the tenant."
        />
        {problem !== undefined && <Problem problem={problem} />}
      </form>
    </Dialog>
  );
}
