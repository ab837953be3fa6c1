import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Action } from '../../../src/operator-service/contract/choices.ts';
import type { ProblemBody } from '../../../src/operator-service/contract/fields.ts';
import type { ActionAnswer, NotificationDetail } from '../../../src/operator-service/contract/notifications.ts';
import { problemOf, write } from '../../data/api.ts';
import { newRequestId } from '../../data/request-id.ts';
import { SessionContext } from '../../data/session.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Shell } from '../../parts/shell-command.tsx';
import { Loading, Problem } from '../../parts/states.tsx';
import { showToast } from '../../parts/toasts.tsx';

interface Words {
  readonly name: string;
  readonly question: string;
  readonly does: string;
  readonly done: string;
}

const WORDS: Readonly<Record<Action, Words>> = {
  redrive: {
    name: 'Redrive',
    question: 'Redrive it?',
    does: 'It starts again with a full budget of retries. What removed the cause should come first.',
    done: 'It is queued, and starts again with a full budget of retries.',
  },
  retry: {
    name: 'Retry now',
    question: 'Retry it now?',
    does: 'It is attempted once at once. What removed the cause should come first.',
    done: 'It is queued and will be attempted at once.',
  },
  cancel: {
    name: 'Stop retrying',
    question: 'Stop retrying it?',
    does: 'It is not attempted any more. Its row and records stay.',
    done: 'It is not retried any more.',
  },
  give_up: {
    name: 'Stop retrying',
    question: 'Take it off the list of dead letters?',
    does: 'It is not sent, and leaves the dead letters. Its row and records stay.',
    done: 'It is off the list of dead letters.',
  },
};

interface ActionsProps {
  readonly log_id: string;
  readonly detail: NotificationDetail;
  readonly onDone: () => void;
}

export function Actions({ log_id, detail: { actions }, onDone }: ActionsProps) {
  const { role } = useContext(SessionContext);
  const [asked, setAsked] = useState<Action>();
  return (
    <>
      {offered(actions).map((action) => {
        const check = actions[action];
        const because =
          role === 'viewer'
            ? 'Your role is viewer: only operators change anything.'
            : check.possible
              ? undefined
              : check.because;
        return (
          <button
            key={action}
            type="button"
            class={`button${isSending(action) ? ' primary' : ''}`}
            aria-disabled={because !== undefined}
            title={because}
            onClick={() => (because === undefined ? setAsked(action) : showToast('failed', because))}
          >
            {WORDS[action].name}
          </button>
        );
      })}
      {asked !== undefined && (
        <Ask log_id={log_id} action={asked} onClose={() => setAsked(undefined)} onDone={onDone} />
      )}
    </>
  );
}

/** One that sends and one that ends: a dead notification starts again, or leaves the list. */
function offered(actions: NotificationDetail['actions']): readonly Action[] {
  const send: Action = actions.redrive.possible ? 'redrive' : 'retry';
  const end: Action = actions.give_up.possible ? 'give_up' : 'cancel';
  return actions[end].possible ? [send, end] : [send];
}

function isSending(action: Action): boolean {
  return action === 'redrive' || action === 'retry';
}

interface AskProps {
  readonly log_id: string;
  readonly action: Action;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Says by a dry run what would happen, and acts when the person agrees. */
function Ask({ log_id, action, onClose, onDone }: AskProps) {
  // One decision, one id: a second click, or a repeated request, changes nothing more.
  const request_id = useRef(newRequestId());
  const [preview, setPreview] = useState<ActionAnswer>();
  const [problem, setProblem] = useState<ProblemBody>();
  const [busy, setBusy] = useState(false);
  const words = WORDS[action];
  useEffect(() => {
    write('POST /api/actions', {}, { request_id: newRequestId(), action, log_ids: [log_id], dry_run: true })
      .then(setPreview)
      .catch((error) => setProblem(problemOf(error)));
  }, [action, log_id]);
  const act = async () => {
    setBusy(true);
    try {
      const answer = await write(
        'POST /api/actions',
        {},
        { request_id: request_id.current, action, log_ids: [log_id] },
      );
      const refused = refusalIn(answer);
      if (refused === undefined) showToast('done', words.done);
      else showToast('failed', refused, answer.command);
      onClose();
      onDone();
    } catch (error) {
      setProblem(problemOf(error));
      setBusy(false);
    }
  };
  const refused = preview && refusalIn(preview);
  return (
    <Dialog
      title={words.question}
      onClose={onClose}
      actions={
        <>
          <button type="button" class="button" onClick={onClose}>
            Keep
          </button>
          <button
            type="button"
            class={`button ${isSending(action) ? 'primary' : 'danger'}`}
            disabled={busy || preview === undefined || refused !== undefined}
            onClick={act}
          >
            {words.name}
          </button>
        </>
      }
    >
      <p>{words.does}</p>
      {preview === undefined && problem === undefined && <Loading what="what would happen" lines={1} />}
      {refused !== undefined && <p class="note tone-wait">Nothing would happen: {refused}</p>}
      {preview !== undefined && <Shell label="The same in the shell" command={preview.command} />}
      {problem !== undefined && <Problem problem={problem} />}
    </Dialog>
  );
}

function refusalIn({ results: [result] }: ActionAnswer): string | undefined {
  if (result === undefined) return 'there was no result.';
  const acted =
    result.result === 'queued' ||
    result.result === 'cancelled' ||
    result.result === 'given_up' ||
    result.result === 'ended';
  return acted ? undefined : (result.because ?? result.result.replaceAll('_', ' '));
}
