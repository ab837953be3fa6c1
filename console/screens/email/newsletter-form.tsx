import { useContext, useState } from 'preact/hooks';
import { shellCommand } from '../../../src/application/contract/choices.ts';
import {
  IDENTIFICATION,
  MAIL_LANGUAGES,
  missingIdentification,
  type Newsletter,
} from '../../../src/core/newsletter/model/email.ts';
import { write } from '../../data/api.ts';
import { SessionContext } from '../../data/session.ts';
import { said, t } from '../../language/language.ts';
import { FormDialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { showToast } from '../../parts/toasts.tsx';

const TRACKED = {
  opens: t('Opens: a pixel in each mail tells that it was opened'),
  clicks: t('Clicks: links lead by way of SES, which tells that they were followed'),
} as const;

/** Fields that may be empty. */
const TEXTS = ['reply_to', 'sending_domain', 'fallback_domain', ...IDENTIFICATION, 'accent_color', 'logo_url'] as const;

/** What the form says, as the API takes it. */
function newsletterIn(form: FormData, was: Newsletter | undefined) {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const more = TEXTS.map((name) => [name, text(name)] as const);
  const language = MAIL_LANGUAGES.find((one) => one === text('language'));
  const [opens, clicks] = [form.has('opens'), form.has('clicks')];
  return {
    tenant: was?.tenant_id ?? text('tenant'),
    newsletter_id: was?.newsletter_id ?? text('newsletter_id'),
    name: text('name'),
    from: text('from'),
    ...Object.fromEntries(more.filter(([, value]) => value !== '')),
    ...(language && { language }),
    ...(!(opens && clicks) && { track: { opens, clicks } }),
  };
}

function commandFor(newsletter: ReturnType<typeof newsletterIn>, local: boolean): string {
  const { tenant, newsletter_id, track, ...fields } = newsletter;
  const options = [
    ...['--tenant', tenant || 'TENANT'],
    ...Object.entries(fields).flatMap(([name, value]) => [`--${name.replaceAll('_', '-')}`, value || 'TEXT']),
    ...(['opens', 'clicks'] as const).flatMap((what) => (track?.[what] === false ? [`--no-${what}`] : [])),
  ];
  return shellCommand('newsletters create', local, options, [newsletter_id || 'ID']);
}

interface NewsletterFormProps {
  /** The one that is changed; absent: a new one. */
  readonly was?: Newsletter;
  readonly onClose: () => void;
}

/** Makes a newsletter, or changes how it is sent and tracked. */
export function NewsletterForm({ was, onClose }: NewsletterFormProps) {
  const { local } = useContext(SessionContext);
  const [command, setCommand] = useState<string>();
  const store = async (request_id: string, form: FormData) => {
    const body = { request_id, ...newsletterIn(form, was), known_at: was?.updated_at ?? null };
    const stored = await write('POST /api/newsletters', {}, body);
    showToast(
      'done',
      `${t('{newsletter_id} is stored.', { newsletter_id: stored.newsletter_id })} ${said(missingIdentification(stored) ?? '')}`.trim(),
    );
    onClose();
  };
  return (
    <FormDialog
      title={
        was === undefined ? t('New newsletter') : t('Change {newsletter_id}', { newsletter_id: was.newsletter_id })
      }
      stays
      onClose={onClose}
      act={t('Store it')}
      send={store}
      onInput={(form) => setCommand(commandFor(newsletterIn(form, was), local))}
      command={command}
    >
      {was === undefined && (
        <div class="form-row">
          <Field label={t('Tenant')} name="tenant" required />
          <Field label={t('Id')} name="newsletter_id" required hint={t('Such as weekly; it stays')} />
        </div>
      )}
      <Field
        label={t('Name')}
        name="name"
        value={was?.name}
        required
        hint={t('The page of the unsubscribe link shows it')}
      />
      <Field
        label={t('From')}
        name="from"
        value={was?.from}
        required
        hint={t('Weekly <news@example.com>; verified in SES')}
      />
      <Field label={t('Replies to')} name="reply_to" value={was?.reply_to} hint={t('Empty: to the sender')} />
      <Field
        label={t('Sender')}
        name="sender_name"
        value={was?.sender_name}
        hint={t('Who sends it: by law each mail says it, and the next two')}
      />
      <div class="form-row">
        <Field label={t('Postal address')} name="postal_address" value={was?.postal_address} />
        <Field
          label={t('Contact')}
          name="contact"
          value={was?.contact}
          hint={t('An address, a telephone number or a URL')}
        />
      </div>
      <div class="form-row">
        <Field
          label={t('Language')}
          name="language"
          value={was?.language ?? ''}
          options={['', ...MAIL_LANGUAGES]}
          hint={t("Of its footer and of the pages behind its links; empty: English, and for pages the reader's")}
        />
        <Field label={t('Accent colour')} name="accent_color" value={was?.accent_color} hint={t('Such as #1a5fb4')} />
        <Field label={t('Logo')} name="logo_url" value={was?.logo_url} hint={t('https://…; empty: its name')} />
      </div>
      <div class="form-row">
        <Field
          label={t('Sending domain')}
          name="sending_domain"
          value={was?.sending_domain}
          hint={t('Empty: that of From')}
        />
        <Field
          label={t('Fallback domain')}
          name="fallback_domain"
          value={was?.fallback_domain}
          hint={t('For mails beyond the warming of the sending domain; empty: no warming')}
        />
      </div>
      <fieldset class="choices">
        <legend>{t('Tracked in its next mails')}</legend>
        {(['opens', 'clicks'] as const).map((what) => (
          <label key={what} class="choice">
            <input type="checkbox" name={what} defaultChecked={was?.track?.[what] ?? true} />
            <span>{TRACKED[what]}</span>
          </label>
        ))}
      </fieldset>
    </FormDialog>
  );
}
