import type { EmailDraft } from '../../../src/application/contract/newsletters.ts';
import { FORMATS } from '../../../src/core/newsletter/model/email.ts';
import type { Answer } from '../../data/api.ts';
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
        <Field label="Newsletter" name="newsletter" value={newsletter_id} options={newsletters} />
        <Field label="Format" name="format" value={draft?.format ?? 'markdown'} options={FORMATS} />
      </div>
      <Field label="Subject" name="subject" value={draft?.subject} required />
      <Field label="Preheader" name="preheader" value={draft?.preheader} hint="Lists of mails show it" />
      <Field
        label="Text"
        name="body"
        value={draft?.body}
        lines={10}
        required
        hint="Merge fields such as {first_name, &quot;there&quot;} and {unsubscribe_url} are filled in."
      />
      <Field
        label="Segment"
        name="segment"
        value={draft?.segment}
        hint="Such as status:paid+label:vip; empty: everyone"
      />
      <div class="form-row">
        <Field
          label="At"
          name="scheduled_at"
          type="datetime-local"
          value={localInput(draft?.scheduled_at)}
          hint="In your time zone; empty: at once"
        />
        <Field
          label="Spread over minutes"
          name="window"
          type="number"
          value={draft?.delivery_window_minutes?.toString()}
          min={1}
          max={10_080}
          step={1}
          hint="Empty: as fast as it may"
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
        <Field label="Test to" name="to" hint="Up to 10 addresses; sample values, nobody is counted" />
        <Button name="Send a test" disabled={busy} onClick={onTest} />
      </div>
      {results !== undefined && (
        <ul class="reasons" role="status">
          {results.map(({ index, to, accepted, reason, message }) => (
            <li key={index}>
              <strong>{to}</strong> {accepted ? 'SES took it.' : (message ?? `Not sent: ${reason ?? 'unknown'}.`)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
