import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { quoted } from '../../../src/application/contract/choices.ts';
import type { EmailDraft } from '../../../src/application/contract/newsletters.ts';
import { FORMATS } from '../../../src/core/newsletter/model/email.ts';
import { type Answer, write } from '../../data/api.ts';
import { newRequestId, useDecision } from '../../data/decision.ts';
import { opsCommand, SessionContext } from '../../data/session.ts';
import { useRead } from '../../data/use-read.ts';
import { navigate } from '../../navigation/router.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Shell } from '../../parts/shell-command.tsx';
import { Problem } from '../../parts/states.tsx';
import { count, localInput } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { plural } from '../../parts/words.ts';
import { reasonWord } from './phase-words.ts';

type DryRun = Answer<'POST /api/emails/dry-run'>;
type TestResult = Answer<'POST /api/emails/test'>['results'][number];

interface DraftProps {
  readonly tenant: string;
  /** Ids of the newsletters that it may be of. */
  readonly newsletters: readonly string[];
  /** The e-mail that it replaces, as that was written. */
  readonly replaces?: { readonly email_id: string; readonly draft: EmailDraft };
  readonly onClose: () => void;
}

/** What the form says, as the API takes it. */
function draftIn(form: FormData): EmailDraft {
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

/** Writes an e-mail. It is sent, or takes the place of another, only as it was when somebody looked at who gets it. */
export function Draft({ tenant, newsletters, replaces, onClose }: DraftProps) {
  const session = useContext(SessionContext);
  const form = useRef<HTMLFormElement>(null);
  const [run, setRun] = useState<DryRun>();
  const [tests, setTests] = useState<readonly (TestResult & { readonly to: string })[]>();
  const isRunning = run?.status === 'running';
  const kept = useRead(
    'GET /api/emails/{email_id}/dry-run',
    { email_id: run?.email_id ?? '' },
    {},
    { every: Math.min(1_000, session.poll_ms), when: isRunning },
  );
  useEffect(() => {
    if (isRunning && kept.data !== undefined) setRun(kept.data);
  }, [isRunning, kept.data]);

  type Act = (request_id: string, draft: EmailDraft, to: readonly string[]) => Promise<void>;
  const { busy, problem, decide, renew } = useDecision(async (request_id, act: Act) => {
    if (form.current === null || !form.current.reportValidity()) return;
    const given = new FormData(form.current);
    const to = String(given.get('to') ?? '').match(/[^\s,;]+/g) ?? [];
    await act(request_id, draftIn(given), to);
  });
  const look = () =>
    decide(async (request_id, draft) =>
      setRun(await write('POST /api/emails/dry-run', {}, { request_id, tenant, ...draft })),
    );
  const test = () =>
    decide(async (_, draft, to) => {
      const body = { request_id: newRequestId(), tenant, ...draft, to: [...to] };
      const { results } = await write('POST /api/emails/test', {}, body);
      setTests(results.map((result) => ({ ...result, to: to[result.index] ?? '' })));
    });
  const send = () =>
    decide(async (request_id, draft) => {
      const body = { request_id, ...draft };
      const known_at = replaces?.draft.known_at;
      const { email_id, warnings } =
        replaces === undefined
          ? await write('POST /api/emails', {}, { ...body, tenant })
          : await write('POST /api/emails/{email_id}/replace', { email_id: replaces.email_id }, { ...body, known_at });
      const done = replaces === undefined ? 'It is stored; its progress is below.' : 'It is replaced.';
      showToast('done', [done, ...(warnings ?? [])].join(' '));
      onClose();
      navigate(`/newsletters/emails/${encodeURIComponent(email_id)}`);
    });

  const draft = replaces?.draft;
  const newsletter_id = draft?.newsletter_id ?? newsletters[0];
  const ready = run?.status === 'done' && run.error === undefined;
  const verb = replaces === undefined ? 'Send' : 'Replace';
  return (
    <Dialog
      title={replaces === undefined ? 'New e-mail' : 'Edit the e-mail'}
      stays
      onClose={onClose}
      actions={
        <>
          <Button name="Leave it" onClick={onClose} />
          <Button
            name={ready ? `${verb}: ${plural(run.recipients ?? 0, 'member')}` : verb}
            kind={ready ? 'primary' : 'plain'}
            disabled={busy || !ready}
            onClick={send}
          />
          {/* The last one, where a second click in a hurry only looks again. */}
          <button type="submit" form="draft" class={`button${ready ? '' : ' primary'}`} disabled={busy || isRunning}>
            {isRunning ? `${count(run.members ?? 0)} members looked at…` : 'Who gets it?'}
          </button>
        </>
      }
    >
      <form
        id="draft"
        class="rows"
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void look();
        }}
        onInput={({ target }) => {
          if (target instanceof HTMLInputElement && target.name === 'to') return;
          // Another text is another e-mail: it is looked at anew, under an id of its own.
          renew();
          setRun(undefined);
        }}
      >
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
        <div class="form-row with-button">
          <Field label="Test to" name="to" hint="Up to 10 addresses; sample values, nobody is counted" />
          <Button name="Send a test" disabled={busy} onClick={test} />
        </div>
        {tests !== undefined && (
          <ul class="reasons" role="status">
            {tests.map(({ index, to, accepted, reason, message }) => (
              <li key={index}>
                <strong>{to}</strong> {accepted ? 'SES took it.' : (message ?? `Not sent: ${reason ?? 'unknown'}.`)}
              </li>
            ))}
          </ul>
        )}
        {run?.status === 'done' && <Found run={run} />}
        {problem !== undefined && <Problem problem={problem} />}
        <Shell
          label="In the shell"
          command={opsCommand(
            replaces === undefined
              ? `emails send FILE.md --tenant ${quoted(tenant)} --newsletter ${quoted(newsletter_id ?? 'ID')}`
              : `emails replace ${replaces.email_id} FILE.md`,
            session,
          )}
        />
      </form>
    </Dialog>
  );
}

/** Who would get it, in which rendering, and who would not and why. */
function Found({ run }: { readonly run: DryRun }) {
  const { other_recipients = 0, warnings = [] } = run;
  const { recipients = 0, excluded = 0, excluded_by_reason = {}, renderings = [], missing_fields = {}, error } = run;
  return (
    <div class="rows" role="status">
      <dl class="preview-figures is-two">
        <div class="is-main">
          <dt>Would get it</dt>
          <dd>{count(recipients)}</dd>
        </div>
        <div>
          <dt>Left out</dt>
          <dd>{count(excluded)}</dd>
        </div>
      </dl>
      <ul class="reasons">
        <li>Who has unsubscribed is in neither number.</li>
        {(renderings.length > 1 || other_recipients > 0) &&
          renderings.map(({ segments, recipients: number }) => (
            <li key={segments.join()}>
              <strong>{count(number)}</strong> with {segments.join(' and ') || 'no part of their own'}
            </li>
          ))}
        {other_recipients > 0 && (
          <li>
            <strong>{count(other_recipients)}</strong> with other combinations of parts
          </li>
        )}
        {Object.entries(excluded_by_reason).map(([reason, number]) => (
          <li key={reason}>
            <strong>{count(number)}</strong> left out: <code>{reason}</code> {reasonWord('excluded', reason)}
          </li>
        ))}
        {Object.entries(missing_fields).map(([field, number]) => (
          <li key={field}>
            <strong>{count(number)}</strong> have no <code>{`{${field}}`}</code>
          </li>
        ))}
      </ul>
      {warnings.length > 0 && <p class="note tone-wait">{warnings.join(' ')}</p>}
      {error !== undefined && <p class="note tone-bad">{error}</p>}
    </div>
  );
}
