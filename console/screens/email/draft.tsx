import { useContext, useRef, useState } from 'preact/hooks';
import { quoted } from '../../../src/application/contract/choices.ts';
import type { EmailDraft, MailPreview as Mail } from '../../../src/application/contract/newsletters.ts';
import { write } from '../../data/api.ts';
import { newRequestId, useDecision } from '../../data/decision.ts';
import { opsCommand, SessionContext } from '../../data/session.ts';
import { count, plural, said, t } from '../../language/language.ts';
import { navigate } from '../../navigation/router.ts';
import { Button, Why } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Shell } from '../../parts/shell-command.tsx';
import { Problem } from '../../parts/states.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { DraftFields, draftIn, TestField } from './draft-fields.tsx';
import { Recipients, useDryRun } from './dry-run.tsx';
import { MailPreview } from './mail-preview.tsx';

interface DraftProps {
  readonly tenant: string;
  /** Ids of the newsletters that it may be of. */
  readonly newsletters: readonly string[];
  /** The e-mail that it replaces, as that was written. */
  readonly replaces?: { readonly email_id: string; readonly draft: EmailDraft };
  readonly onClose: () => void;
}

/** Stores what is written, in place of another where it replaces one, and shows its page. */
async function store({ tenant, replaces, onClose }: DraftProps, request_id: string, draft: EmailDraft): Promise<void> {
  const body = { request_id, ...draft };
  const known_at = replaces?.draft.known_at;
  const { email_id, warnings } =
    replaces === undefined
      ? await write('POST /api/emails', {}, { ...body, tenant })
      : await write('POST /api/emails/{email_id}/replace', { email_id: replaces.email_id }, { ...body, known_at });
  const done = replaces === undefined ? t('It is stored; its progress is below.') : t('It is replaced.');
  showToast('done', [done, ...(warnings ?? []).map(said)].join(' '));
  onClose();
  navigate(`/newsletters/emails/${encodeURIComponent(email_id)}`);
}

const testOf = (tenant: string, draft: EmailDraft, to: readonly string[]) =>
  write('POST /api/emails/test', {}, { request_id: newRequestId(), tenant, ...draft, to: [...to] });

const previewOf = (tenant: string, draft: EmailDraft, member_id?: string, request_id = newRequestId()) =>
  write('POST /api/emails/preview', {}, { request_id, tenant, ...draft, member_id });

/** What is done with what the form says, once it can be sent; and what came of it. */
function useDraft(props: DraftProps) {
  const { tenant } = props;
  const form = useRef<HTMLFormElement>(null);
  const dry = useDryRun();
  const [tests, setTests] = useState<Parameters<typeof TestField>[0]['results']>();
  const [shown, setShown] = useState<{ readonly draft: EmailDraft; readonly sample: Mail }>();
  type Act = (request_id: string, draft: EmailDraft, to: readonly string[]) => Promise<void>;
  const { busy, problem, decide, renew } = useDecision(async (request_id, act: Act) => {
    if (form.current === null || !form.current.reportValidity()) return;
    const given = new FormData(form.current);
    const to = String(given.get('to') ?? '').match(/[^\s,;]+/g) ?? [];
    await act(request_id, draftIn(given), to);
  });
  const look: Act = async (request_id, draft) =>
    dry.setRun(await write('POST /api/emails/dry-run', {}, { request_id, tenant, ...draft }));
  const test: Act = async (_, draft, to) => {
    const { results } = await testOf(tenant, draft, to);
    setTests(results.map((result) => ({ ...result, to: to[result.index] ?? '' })));
  };
  const preview: Act = async (_, draft) => setShown({ draft, sample: await previewOf(tenant, draft) });
  return {
    ...dry,
    form,
    busy,
    problem,
    tests,
    shown,
    close: () => setShown(undefined),
    look: () => decide(look),
    test: () => decide(test),
    preview: () => decide(preview),
    send: () => decide((request_id, draft) => store(props, request_id, draft)),
    /** Another text is another e-mail: it is looked at anew, under an id of its own. */
    changed: () => {
      renew();
      dry.setRun(undefined);
    },
  };
}

/** Writes an e-mail. It is sent, or takes the place of another, only as it was when somebody looked at who gets it. */
export function Draft(props: DraftProps) {
  const { tenant, newsletters, replaces, onClose } = props;
  const session = useContext(SessionContext);
  const draft = useDraft(props);
  const { run, ready, busy, isRunning, problem, shown } = draft;
  const newsletter_id = replaces?.draft.newsletter_id ?? newsletters[0];
  const verb = replaces === undefined ? t('Send') : t('Replace');
  const ofFile = `--tenant ${quoted(tenant)} --newsletter ${quoted(newsletter_id ?? 'ID')}`;
  const command =
    replaces === undefined ? `emails send FILE.md ${ofFile}` : `emails replace ${replaces.email_id} FILE.md`;
  return (
    <>
      <Dialog
        title={replaces === undefined ? t('New e-mail') : t('Edit the e-mail')}
        stays
        onClose={onClose}
        actions={
          <>
            {!busy && !ready && <Why>{t('Preview the recipients first.')}</Why>}
            <Button name={t('Leave it')} onClick={onClose} />
            <Button name={t('Preview mail')} icon="eye" disabled={busy} onClick={draft.preview} />
            <Button
              name={ready ? t('{verb}: {n}', { verb, n: plural(run?.recipients ?? 0, 'member') }) : verb}
              kind={ready ? 'primary' : 'plain'}
              disabled={busy || !ready}
              onClick={draft.send}
            />
            {/* The last one, where a second click in a hurry only looks again. */}
            <button type="submit" form="draft" class={`button${ready ? '' : ' primary'}`} disabled={busy || isRunning}>
              {isRunning ? t('{n} members looked at…', { n: count(run?.members ?? 0) }) : t('Preview recipients')}
            </button>
          </>
        }
      >
        <form
          id="draft"
          class="rows"
          ref={draft.form}
          onSubmit={(event) => {
            event.preventDefault();
            void draft.look();
          }}
          onInput={({ target }) => {
            if (!(target instanceof HTMLInputElement && target.name === 'to')) draft.changed();
          }}
        >
          <DraftFields newsletters={newsletters} newsletter_id={newsletter_id} draft={replaces?.draft} />
          <TestField busy={busy} results={draft.tests} onTest={draft.test} />
          {run?.status === 'done' && <Recipients run={run} />}
          {problem !== undefined && <Problem problem={problem} />}
          <Shell label={t('In the shell')} command={opsCommand(command, session)} />
        </form>
      </Dialog>
      {shown !== undefined && (
        <MailPreview
          sample={shown.sample}
          asMember={(member_id, request_id) => previewOf(tenant, shown.draft, member_id, request_id)}
          ops={`emails preview FILE.md ${ofFile} --open`}
          onClose={draft.close}
        />
      )}
    </>
  );
}
