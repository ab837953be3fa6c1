import { useState } from 'preact/hooks';
import type {
  CorrectAnswer,
  CorrectedField,
  NotificationDetail,
  SentContent,
} from '../../../src/application/contract/notifications.ts';
import { write } from '../../data/api.ts';
import { rich, said, t } from '../../language/language.ts';
import { Button } from '../../parts/button.tsx';
import { Decision, FormDialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { localTime } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { columnText } from '../../parts/words.ts';
import { AUDITED, useReveal } from './timeline.tsx';

type Values = Readonly<Partial<Record<CorrectedField, string>>>;

const NAMES: Readonly<Record<CorrectedField, string>> = {
  recipient: t('Recipient'),
  subject: t('Subject'),
  body: t('Body'),
  integration_config_id: t('Integration'),
};
const FIELDS = Object.keys(NAMES) as readonly CorrectedField[];

interface CorrectProps {
  readonly log_id: string;
  readonly detail: NotificationDetail;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** What is stored, corrected in a form; then what changes, before it is sent. */
export function Correct({ log_id, detail: { notification }, onClose, onDone }: CorrectProps) {
  const [content, reveal] = useReveal((request_id) =>
    write('POST /api/notifications/{log_id}/content', { log_id }, { request_id }),
  );
  const [asked, setAsked] = useState<Values>({});
  const [review, setReview] = useState<CorrectAnswer>();
  const stored = storedValues(content, columnText(notification, 'integration_config_id'));
  const correct = (request_id: string, values: Values, more: object) =>
    write('POST /api/notifications/{log_id}/correct', { log_id }, { request_id, ...values, ...more });
  const look = async (request_id: string, form: FormData) => {
    const values = changedIn(form, stored);
    setReview(await correct(request_id, values, { dry_run: true }));
    setAsked(values);
  };
  const send = async (request_id: string) => {
    const { result, because, command } = await correct(request_id, asked, {
      shown: columnText(notification, 'updated_at'),
    });
    if (result === 'queued') showToast('done', t('Corrected, and queued to be sent.'));
    else showToast('failed', said(because ?? result), command);
    onClose();
    onDone();
  };
  if (review !== undefined)
    return (
      <Decision
        title={t('Send it corrected?')}
        onClose={() => setReview(undefined)}
        keep={t('Back')}
        act={t('Correct and send')}
        run={send}
        command={review.command}
      >
        <dl class="pairs">
          {review.changes.map(({ field, from, to }) => (
            <div key={field}>
              <dt>{NAMES[field]}</dt>
              <dd>
                {/* A body may be long: the form has it. */}
                <del>{(field !== 'body' && stored[field]) || from}</del> →{' '}
                <ins>{content === undefined || field === 'body' ? to : asked[field]}</ins>
              </dd>
            </div>
          ))}
        </dl>
        <p class="soft">
          {rich(
            'It is sent {due}, and starts again with a full budget of retries. Its attempts so far stay in the timeline; its dead letter, and what events still tell of them, no longer count.',
            { due: whenOf(review.due) },
          )}
        </p>
      </Decision>
    );
  return (
    <FormDialog title={t('Correct it')} onClose={onClose} stays act={t('Review')} send={look}>
      <p class="line apart">
        <span class="soft">{t('What you leave empty stays as it is.')}</span>
        {content === undefined && (
          <Button name={t('Show what is stored')} icon="eye" kind="link" title={AUDITED} onClick={reveal} />
        )}
      </p>
      {FIELDS.map((field) => (
        <Field
          key={`${field} ${content === undefined}`}
          label={NAMES[field]}
          name={field}
          value={asked[field] ?? stored[field]}
          lines={field === 'body' ? 8 : 1}
        />
      ))}
    </FormDialog>
  );
}

/** A scheduled one keeps its time. */
const whenOf = (due: string | undefined): string =>
  due !== undefined && Date.parse(due) > Date.now() ? t('at its time, {time}', { time: localTime(due) }) : t('at once');

function storedValues(content: SentContent | undefined, integration: string): Values {
  const { recipient, subject, body } = content ?? {};
  return {
    ...(recipient !== undefined && { recipient }),
    ...(subject !== undefined && { subject }),
    ...(body !== undefined && { body }),
    ...(integration !== '' && { integration_config_id: integration }),
  };
}

/** What is another text than the one that is stored. */
function changedIn(form: FormData, stored: Values): Values {
  const given = FIELDS.map((field) => {
    // A form sends lines with CRLF; the text keeps its own.
    const text = String(form.get(field) ?? '').replaceAll('\r\n', '\n');
    return [field, field === 'body' ? text : text.trim()] as const;
  });
  const isNew = (field: CorrectedField, text: string) =>
    text !== '' && text !== (stored[field] ?? '').replaceAll('\r\n', '\n');
  return Object.fromEntries(given.filter(([field, text]) => isNew(field, text)));
}
