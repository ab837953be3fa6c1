import { useState } from 'preact/hooks';
import { KEY_SCOPES, quoted } from '../../../src/application/contract/choices.ts';
import type { CreatedKey } from '../../../src/application/contract/keys.ts';
import { write } from '../../data/api.ts';
import { rich, t } from '../../language/language.ts';
import { Confirm, FormDialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Shell } from '../../parts/shell-command.tsx';

const MEANING: Readonly<Record<(typeof KEY_SCOPES)[number], string>> = {
  send: t('hand notifications over'),
  read: t('see what became of them'),
  operate: t('retry and cancel them'),
  'newsletters:read': t('see newsletters and their e-mails'),
  'newsletters:write': t('change members, send newsletters'),
};

export function NewKey({ onClose }: { readonly onClose: () => void }) {
  const [created, setCreated] = useState<CreatedKey>();
  return created === undefined ? (
    <Ask onClose={onClose} onCreated={setCreated} />
  ) : (
    <Secret created={created} onClose={onClose} />
  );
}

/** What the form says, as the API takes it. */
function keyIn(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const days = Number(text('days'));
  const rate = Number(text('rate'));
  return {
    tenant: text('tenant'),
    scopes: KEY_SCOPES.filter((scope) => form.getAll('scope').includes(scope)),
    ...(days > 0 && { expires_in_days: days }),
    ...(rate > 0 && { rate_limit: rate }),
    ...(text('description') !== '' && { description: text('description') }),
  };
}

function commandFor({ tenant, scopes, expires_in_days, rate_limit, description }: ReturnType<typeof keyIn>): string {
  return [
    `keys create --tenant ${quoted(tenant || 'TENANT')}`,
    ...scopes.map((scope) => `--scope ${scope}`),
    ...(expires_in_days === undefined ? [] : [`--expires ${expires_in_days}d`]),
    ...(rate_limit === undefined ? [] : [`--rate-limit ${rate_limit}`]),
    ...(description === undefined ? [] : [`--description ${quoted(description)}`]),
  ].join(' ');
}

function Ask({ onClose, onCreated }: { readonly onClose: () => void; readonly onCreated: (key: CreatedKey) => void }) {
  const [command, setCommand] = useState('keys create --tenant TENANT --scope send');
  return (
    <FormDialog
      title={t('New key')}
      onClose={onClose}
      act={t('Create key')}
      send={async (request_id, form) => onCreated(await write('POST /api/keys', {}, { request_id, ...keyIn(form) }))}
      onInput={(form) => setCommand(commandFor(keyIn(form)))}
      ops={command}
    >
      <Field label={t('Tenant')} name="tenant" required />
      <fieldset class="choices">
        <legend>{t('It may')}</legend>
        {KEY_SCOPES.map((scope) => (
          <label key={scope} class="choice">
            <input type="checkbox" name="scope" value={scope} defaultChecked={scope === 'send'} />
            <span>
              <strong>{scope}</strong>
              <span class="soft">{MEANING[scope]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <Field label={t('Description')} name="description" hint={t('Who uses it, such as the service’s name')} />
      <div class="form-row">
        <Field label={t('Ends after days')} name="days" type="number" min={1} max={3650} hint={t('Empty: never')} />
        <Field
          label={t('Requests per second')}
          name="rate"
          type="number"
          min={1}
          max={10000}
          hint={t('Empty: the default')}
        />
      </div>
    </FormDialog>
  );
}

function Secret({ created: { key_id, key }, onClose }: { readonly created: CreatedKey; readonly onClose: () => void }) {
  return (
    <Confirm title={t('The key is made')} onClose={onClose} keep={null} act={t('I have stored it')} onAct={onClose}>
      {key === null ? (
        <p>
          {rich(
            'An earlier request made {key_id}, and its answer showed the key. If nobody has it, revoke this one and make another.',
            { key_id: <code>{key_id}</code> },
          )}
        </p>
      ) : (
        <>
          <p>
            {rich('Copy it now: it is not stored and cannot be shown again. Its id is {key_id}.', {
              key_id: <code>{key_id}</code>,
            })}
          </p>
          <Shell label={t('Key')} command={key} />
        </>
      )}
    </Confirm>
  );
}
