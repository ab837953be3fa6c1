import { useContext, useEffect, useState } from 'preact/hooks';
import type { Action } from '../../../src/application/contract/choices.ts';
import type { ActionAnswer, NotificationDetail } from '../../../src/application/contract/notifications.ts';
import { write } from '../../data/api.ts';
import { useDecision } from '../../data/decision.ts';
import { SessionContext } from '../../data/session.ts';
import { count, plural, said, t } from '../../language/language.ts';
import { VIEWERS } from '../../parts/button.tsx';
import { Decision } from '../../parts/dialog.tsx';
import { Loading } from '../../parts/states.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { Correct } from './correct.tsx';

interface Words {
  readonly name: string;
  readonly question: string;
  readonly does: string;
  /** After how many there are. */
  readonly done: string;
}

const ACTION_WORDS: Readonly<Record<Action, Words>> = {
  redrive: {
    name: t('Redrive'),
    question: t('Redrive it?'),
    does: t('It starts again with a full budget of retries. What removed the cause should come first.'),
    done: t('redriven: queued with a full budget of retries'),
  },
  retry: {
    name: t('Retry now'),
    question: t('Retry it now?'),
    does: t('It is attempted once at once. What removed the cause should come first.'),
    done: t('queued to be attempted at once'),
  },
  cancel: {
    name: t('Cancel retries'),
    question: t('Cancel its retries?'),
    does: t('It is not attempted any more. Its row and records stay.'),
    done: t('not retried any more'),
  },
  give_up: {
    name: t('Dismiss'),
    question: t('Dismiss it?'),
    does: t('It is not sent, and leaves the dead letters. Its row and records stay.'),
    done: t('dismissed'),
  },
};

interface ActionsProps {
  readonly log_id: string;
  readonly detail: NotificationDetail;
  readonly onDone: () => void;
}

export function Actions({ log_id, detail, onDone }: ActionsProps) {
  const { actions, correction } = detail;
  const { role } = useContext(SessionContext);
  const [asked, setAsked] = useState<Action | 'correct'>();
  const close = () => setAsked(undefined);
  const choices = [
    ...offered(actions).map((action) => [action, ACTION_WORDS[action].name, actions[action]] as const),
    // What is delivered, or under way, has no button that could correct it.
    ...(correction.possible ? [['correct', t('Correct'), correction] as const] : []),
  ];
  return (
    <>
      {choices.map(([choice, name, check]) => {
        const because = role === 'viewer' ? VIEWERS : check.possible ? undefined : said(check.because);
        return (
          <button
            key={choice}
            type="button"
            class={`button${isSending(choice) ? ' primary' : ''}`}
            aria-disabled={because !== undefined}
            title={because}
            onClick={() => (because === undefined ? setAsked(choice) : showToast('failed', because))}
          >
            {name}
          </button>
        );
      })}
      {asked === 'correct' && <Correct log_id={log_id} detail={detail} onClose={close} onDone={onDone} />}
      {asked !== undefined && asked !== 'correct' && (
        <AskAction log_ids={[log_id]} action={asked} onClose={close} onDone={onDone} />
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

const isSending = (action: Action | 'correct'): boolean => action === 'redrive' || action === 'retry';

interface AskProps {
  readonly log_ids: readonly string[];
  /** updated_at by log_id, where the person decides on what a list showed. */
  readonly shown?: Readonly<Record<string, string>>;
  readonly action: Action;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Says by a dry run what would happen, and acts when the person agrees. */
export function AskAction({ log_ids, shown, action, onClose, onDone }: AskProps) {
  const words = ACTION_WORDS[action];
  const [preview, setPreview] = useState<ActionAnswer>();
  const body = { action, log_ids: [...log_ids], ...(shown && { shown }) };
  const look = useDecision(async (request_id) =>
    setPreview(await write('POST /api/actions', {}, { request_id, ...body, dry_run: true })),
  );
  useEffect(() => void look.decide(), []);
  const run = async (request_id: string) => {
    const answer = await write('POST /api/actions', {}, { request_id, ...body });
    const { acted, refusals } = outcomeOf(answer);
    const done = t('{n} {done}.', { n: plural(acted, 'notification'), done: words.done });
    if (refusals.length === 0) showToast('done', done);
    else showToast('failed', [...(acted > 0 ? [done] : []), ...refusals].join(' '), answer.command);
    onClose();
    onDone();
  };
  const found = preview && outcomeOf(preview);
  return (
    <Decision
      title={
        log_ids.length === 1
          ? words.question
          : t('{action}: {n}?', { action: words.name, n: plural(log_ids.length, 'notification') })
      }
      onClose={onClose}
      keep={t('Keep')}
      act={
        log_ids.length === 1 || found === undefined
          ? words.name
          : t('{action} {n}', { action: words.name, n: count(found.acted) })
      }
      danger={!isSending(action)}
      disabled={found === undefined || found.acted === 0}
      run={run}
      problem={look.problem}
      command={preview?.command}
    >
      <p>{words.does}</p>
      {look.busy && <Loading what={t('what would happen')} lines={1} />}
      {found?.refusals.map((refusal) => (
        <p key={refusal} class="note tone-wait">
          {log_ids.length === 1 ? t('Nothing would happen: {refusal}', { refusal }) : refusal}
        </p>
      ))}
    </Decision>
  );
}

const ACTED: ReadonlySet<string> = new Set(['queued', 'cancelled', 'given_up']);

/** How many are acted on, and for each reason why others are not. `ended`: it is as was asked for. */
function outcomeOf({ results }: ActionAnswer) {
  const isDone = (result: string) => ACTED.has(result) || (result === 'ended' && results.length === 1);
  const others = results.filter(({ result }) => !isDone(result));
  const reasons = Map.groupBy(others, ({ result, because = result.replaceAll('_', ' ') }) => because);
  return {
    acted: results.length - others.length,
    refusals: [...reasons].map(([because, { length, 0: first }]) =>
      results.length === 1
        ? said(because)
        : t('{what} left out: {because}.', {
            what: length === 1 ? (first?.log_id ?? '') : plural(length, 'notification'),
            because: said(because),
          }),
    ),
  };
}
