import { useEffect, useRef, useState } from 'preact/hooks';
import { write } from '../data/api.ts';
import { t } from '../language/language.ts';
import { Button } from '../parts/button.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Icon } from '../parts/icon.tsx';
import type { ListFilters } from './notification-filters.ts';

interface RecipientSearchProps {
  readonly filters: ListFilters;
  /** Typed where ids are searched: the dialog opens with it. */
  readonly address: string | undefined;
  readonly onClosed: () => void;
  readonly onChange: (change: Partial<Record<string, string | undefined>>) => void;
}

/** What is no id but an address: of a mailbox, a URL, a Slack channel. */
export const isAddress = (text: string): boolean => /^[^\s@]+@[^\s@]+$|^https?:\/\/|^#/.test(text);

/** Finds what one recipient got. The address itself comes into no URL and no history: the API turns it into a hash. */
export function RecipientSearch({ filters, address, onClosed, onChange }: RecipientSearchProps) {
  const [asked, setOpen] = useState(false);
  const open = asked || address !== undefined;
  const { recipient_hash, tenant } = filters.api;
  const none = { recipient_hash: undefined, tenant: undefined };
  if (recipient_hash !== undefined)
    return (
      <Chip
        name={t('One recipient of {tenant}', { tenant: tenant ?? t('all tenants') })}
        onClick={() => onChange(none)}
      />
    );
  const close = () => {
    setOpen(false);
    onClosed();
  };
  const found: AskProps['onFound'] = (filter) => {
    close();
    onChange(filter);
  };
  return (
    <>
      <Button name={t('By recipient…')} kind="filter" onClick={() => setOpen(true)} />
      {tenant !== undefined && (
        <Chip name={t('Tenant {tenant}', { tenant })} onClick={() => onChange({ tenant: undefined })} />
      )}
      {open && <Ask tenant={tenant} recipient={address} onClose={close} onFound={found} />}
    </>
  );
}

function Chip({ name, onClick }: { readonly name: string; readonly onClick: () => void }) {
  return (
    <button type="button" class="chip" onClick={onClick}>
      {name}
      <Icon name="close" />
      <span class="visually-hidden">{t('Remove this filter')}</span>
    </button>
  );
}

interface AskProps {
  readonly tenant: string | undefined;
  readonly recipient: string | undefined;
  readonly onClose: () => void;
  readonly onFound: (found: { readonly recipient_hash?: string; readonly tenant: string | undefined }) => void;
}

function Ask({ tenant, recipient: typed, onClose, onFound }: AskProps) {
  const find = async (_: string, form: FormData) => {
    const tenant = String(form.get('tenant')).trim() || undefined;
    const recipient = String(form.get('recipient')).trim();
    const asked = { recipient, ...(tenant && { tenant }) };
    const found = recipient === '' ? {} : await write('POST /api/recipient-hash', {}, asked);
    onFound({ tenant, ...found });
  };
  return (
    <FormDialog title={t('Find by tenant and recipient')} onClose={onClose} keep={null} act={t('Find')} send={find}>
      <Field
        label={t('Tenant')}
        name="tenant"
        value={tenant}
        hint={t('Empty: all tenants, which reads everything of the period.')}
      />
      <Field
        label={t('Recipient')}
        name="recipient"
        value={typed}
        hint={t('The exact address, channel or URL. Leave it empty for everything of the tenant.')}
      />
    </FormDialog>
  );
}

interface SearchFieldProps {
  readonly value: string | undefined;
  readonly onSearch: (text: string | undefined) => void;
}

/** Finds by an id, its beginning, or a recipient, when Enter is pressed or the field is left. */
export function SearchField({ value, onSearch }: SearchFieldProps) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (input.current !== null && document.activeElement !== input.current) input.current.value = value ?? '';
  }, [value]);
  const search = () => onSearch(input.current?.value.trim() || undefined);
  return (
    <label class="search">
      <Icon name="search" />
      <span class="visually-hidden">{t('Search by log_id, notification_id or recipient')}</span>
      <input
        ref={input}
        type="search"
        placeholder={t('ID or recipient')}
        defaultValue={value ?? ''}
        maxLength={500}
        spellcheck={false}
        autocomplete="off"
        onChange={search}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Escape') currentTarget.blur();
          if (key === 'Enter') search();
        }}
      />
      <span class="key-hint" aria-hidden="true">
        /
      </span>
    </label>
  );
}
