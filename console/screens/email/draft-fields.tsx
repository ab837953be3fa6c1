import type { EmailDraft } from '../../../src/application/contract/newsletters.ts';
import { FORMATS } from '../../../src/core/newsletter/model/email.ts';
import type { Answer } from '../../data/api.ts';
import { said, t } from '../../language/language.ts';
import { Button } from '../../parts/button.tsx';
import { Field } from '../../parts/field.tsx';
import { localInput } from '../../parts/time.tsx';

/** What the form says, as the API takes it. */
export function draftIn(form: FormData): EmailDraft {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const [segment, at, minutes] = [text('segment'), text('scheduled_at'), Number(text('window'))];
  const preheader = text('preheader');
  return {
    newsletter_id: text('newsletter'),
    subject: text('subject'),
    ...(preheader !== '' && { preheader }),
    body: text('body'),
    format: FORMATS.find((format) => format === text('format')) ?? 'markdown',
    ...(segment !== '' && { segment }),
    ...(at !== '' && { scheduled_at: new Date(at).toISOString() }),
    ...(minutes > 0 && { delivery_window_minutes: minutes }),
  };
}

interface DraftFieldsProps {
  /** Ids of the newsletters that it may be of. */
  readonly newsletters: readonly string[];
  readonly newsletter_id: string | undefined;
  /** As it was written before. */
  readonly draft: EmailDraft | undefined;
}

export function DraftFields({ newsletters, newsletter_id, draft }: DraftFieldsProps) {
  return (
    <>
      <div class="form-row">
        <Field label={t('Newsletter')} name="newsletter" value={newsletter_id} options={newsletters} />
        <Field label={t('Format')} name="format" value={draft?.format ?? 'markdown'} options={FORMATS} />
      </div>
      <Field label={t('Subject')} name="subject" value={draft?.subject} required />
      <Field label={t('Preheader')} name="preheader" value={draft?.preheader} hint={t('Lists of mails show it')} />
      <Field
        label={t('Text')}
        name="body"
        value={draft?.body}
        lines={10}
        required
        hint={t('Merge fields such as {first_name} and {unsubscribe_url} are filled in.', {
          first_name: '{first_name, "there"}',
          unsubscribe_url: '{unsubscribe_url}',
        })}
      />
      <Field
        label={t('Segment')}
        name="segment"
        value={draft?.segment}
        hint={t('Such as status:paid+label:vip; empty: everyone')}
      />
      <div class="form-row">
        <Field
          label={t('At')}
          name="scheduled_at"
          type="datetime-local"
          value={localInput(draft?.scheduled_at)}
          hint={t('In your time zone; empty: at once')}
        />
        <Field
          label={t('Spread over minutes')}
          name="window"
          type="number"
          value={draft?.delivery_window_minutes?.toString()}
          min={1}
          max={10_080}
          step={1}
          hint={t('Empty: as fast as it may')}
        />
      </div>
    </>
  );
}

type TestResult = Answer<'POST /api/emails/test'>['results'][number] & { readonly to: string };

interface TestFieldProps {
  readonly busy: boolean;
  readonly results: readonly TestResult[] | undefined;
  readonly onTest: () => void;
}

/** Sends what is written to a few addresses, and says what became of it. */
export function TestField({ busy, results, onTest }: TestFieldProps) {
  return (
    <>
      <div class="form-row with-button">
        <Field label={t('Test to')} name="to" hint={t('Up to 10 addresses; sample values, nobody is counted')} />
        <Button name={t('Send a test')} disabled={busy} onClick={onTest} />
      </div>
      {results !== undefined && (
        <ul class="reasons" role="status">
          {results.map(({ index, to, accepted, reason, message }) => (
            <li key={index}>
              <strong>{to}</strong>{' '}
              {accepted
                ? t('SES took it.')
                : said(message ?? '') || t('Not sent: {reason}.', { reason: reason ?? t('unknown') })}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
