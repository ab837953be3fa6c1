import { useContext, useState } from 'preact/hooks';
import type { EmailAction } from '../../../src/application/contract/choices.ts';
import type { EmailDetail, EmailDraft, ResolveAnswer } from '../../../src/application/contract/newsletters.ts';
import { problemOf, read, write } from '../../data/api.ts';
import { opsCommand, SessionContext } from '../../data/session.ts';
import { plural, said, t } from '../../language/language.ts';
import { Button } from '../../parts/button.tsx';
import { Decision } from '../../parts/dialog.tsx';
import { localTime } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { Draft } from './draft.tsx';

type Choice = EmailAction | 'resend' | 'leave';

interface Words {
  readonly name: string;
  readonly does: string;
  readonly done: string;
  readonly command: string;
}

const WORDS: Readonly<Record<Choice, Words>> = {
  retry: {
    name: t('Send the rest'),
    does: t('Sends what has not been submitted. Nobody gets it twice.'),
    done: t('It goes on.'),
    command: 'emails retry',
  },
  pause: {
    name: t('Pause'),
    does: t('No further call is made; calls under way end.'),
    done: t('It is paused.'),
    command: 'emails pause',
  },
  resume: {
    name: t('Resume'),
    does: t('It goes on where it stopped.'),
    done: t('It goes on.'),
    command: 'emails resume',
  },
  cancel: {
    name: t('Cancel'),
    does: t('It is sent to nobody else; calls under way end.'),
    done: t('It is cancelled.'),
    command: 'emails cancel',
  },
  resend: {
    name: t('Resend to uncertain'),
    does: t(
      'Sends to recipients whose outcome nobody knows. Some of them may get it twice. Those of the last minutes wait, as SES may still tell of them.',
    ),
    done: '',
    command: 'emails resolve',
  },
  leave: {
    name: t('Leave uncertain'),
    does: t('The uncertain recipients stay so and are not sent again.'),
    done: '',
    command: 'emails resolve',
  },
};

interface EmailActionsProps {
  readonly email_id: string;
  readonly detail: EmailDetail;
  readonly onDone: () => void;
}

export function EmailActions({ email_id, detail: { actions, email, tenant_id }, onDone }: EmailActionsProps) {
  const { role } = useContext(SessionContext);
  const [asked, setAsked] = useState<Choice>();
  const [written, setWritten] = useState<EmailDraft>();
  const edit = async () => {
    try {
      setWritten(await read('GET /api/emails/{email_id}/draft', { email_id }, {}));
    } catch (error) {
      showToast('failed', said(problemOf(error).detail));
    }
  };
  const open = email.counts.uncertain - email.uncertain_left;
  const offered: readonly Choice[] = [...actions, ...(open > 0 ? (['resend', 'leave'] as const) : [])];
  if (role === 'viewer') return null;
  return (
    <>
      {email.status === 'pending' && <Button name={t('Edit')} onClick={edit} />}
      {written !== undefined && (
        <Draft
          tenant={tenant_id}
          newsletters={[written.newsletter_id]}
          replaces={{ email_id, draft: written }}
          onClose={() => {
            setWritten(undefined);
            onDone();
          }}
        />
      )}
      {offered.map((decision) => (
        <Button
          key={decision}
          name={WORDS[decision].name}
          kind={decision === 'retry' || decision === 'resume' ? 'primary' : 'plain'}
          onClick={() => setAsked(decision)}
        />
      ))}
      {asked !== undefined && (
        <Ask
          email_id={email_id}
          decision={asked}
          uncertain={open}
          onClose={() => setAsked(undefined)}
          onDone={onDone}
        />
      )}
    </>
  );
}

/** Says what the decision reached; what it left out stays on the page until it is read. */
function tellResolved(decision: 'resend' | 'leave', answer: ResolveAnswer, command: string): void {
  const { status, resolved, continued, busy = 0, waiting = 0, waiting_until } = answer;
  const waits = decision === 'resend' && status === 'failed' && resolved > 0;
  const sentences = [
    waits
      ? plural(resolved, 'recipient is pending.', 'recipients are pending.')
      : decision === 'resend'
        ? plural(resolved, 'recipient is sent again.', 'recipients are sent again.')
        : plural(resolved, 'recipient is left as it is.', 'recipients are left as they are.'),
    ...(waits ? [t('“Send the rest” sends to them.')] : []),
    ...(continued === true ? [t('More follow in the background.')] : []),
    ...(busy > 0
      ? [
          plural(
            busy,
            'batch is being sent just now: decide again when they are done.',
            'batches are being sent just now: decide again when they are done.',
          ),
        ]
      : []),
    ...(waiting_until !== undefined
      ? [
          t('SES may still tell of {n}: decide again at {time}.', {
            n: plural(waiting, 'recipient'),
            time: localTime(waiting_until),
          }),
        ]
      : []),
  ];
  if (busy + waiting > 0) showToast('failed', sentences.join(' '), command);
  else showToast('done', sentences.join(' '));
}

interface AskProps {
  readonly email_id: string;
  readonly decision: Choice;
  readonly uncertain: number;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function Ask({ email_id, decision, uncertain, onClose, onDone }: AskProps) {
  const session = useContext(SessionContext);
  const words = WORDS[decision];
  const resolves = decision === 'resend' || decision === 'leave';
  const command = opsCommand(`${words.command} ${email_id}${resolves ? ` --${decision}` : ''}`, session);
  const run = async (request_id: string) => {
    if (resolves) {
      const body = { request_id, action: decision };
      tellResolved(decision, await write('POST /api/emails/{email_id}/resolve', { email_id }, body), command);
    } else {
      await write(`POST /api/emails/{email_id}/${decision}`, { email_id }, { request_id });
      showToast('done', words.done);
    }
    onClose();
    onDone();
  };
  return (
    <Decision
      title={`${words.name}?`}
      onClose={onClose}
      keep={t('Not now')}
      act={words.name}
      run={run}
      command={command}
    >
      <p>{words.does}</p>
      {resolves && <p>{plural(uncertain, 'recipient is concerned.', 'recipients are concerned.')}</p>}
    </Decision>
  );
}
