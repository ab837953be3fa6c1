import { useContext, useRef, useState } from 'preact/hooks';
import { OPERATION_KINDS, type OperationKind } from '../../../src/operator-service/contract/choices.ts';
import type { ProblemBody } from '../../../src/operator-service/contract/fields.ts';
import type {
  OperationCounts,
  OperationFilter,
  OperationView,
} from '../../../src/operator-service/contract/operations.ts';
import { problemOf, write } from '../../data/api.ts';
import { newRequestId, nextRequestId } from '../../data/request-id.ts';
import { opsCommand, SessionContext } from '../../data/session.ts';
import { useRead } from '../../data/use-read.ts';
import { navigate } from '../../navigation/router.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Shell } from '../../parts/shell-command.tsx';
import { Loading, Problem } from '../../parts/states.tsx';
import { count, localTime } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { exclusionWord, KIND_WORDS, plural, stateWord } from '../../parts/words.ts';
import { ChooseFilter } from './choose-filter.tsx';
import { FilterWords } from './filter-words.tsx';

interface NewOperationProps {
  /** What it takes; absent: the person chooses that first. */
  readonly filter?: OperationFilter;
  /** What may be chosen; one: it is chosen already. */
  readonly kinds?: readonly OperationKind[];
  readonly onClose: () => void;
}

const DEFAULT_RATE = 100;

/** Chooses what to do with everything that matches; the next step shows what that is, and nothing changes before. */
export function NewOperation({ filter: given, kinds = OPERATION_KINDS, onClose }: NewOperationProps) {
  const [filter, setFilter] = useState(given);
  const [kind, setKind] = useState(kinds[0] ?? 'redrive');
  const [operation, setOperation] = useState<OperationView>();
  const [problem, setProblem] = useState<ProblemBody>();
  const request_id = useRef(newRequestId());
  if (filter === undefined) return <ChooseFilter onClose={onClose} onChosen={setFilter} />;
  if (operation !== undefined) return <Confirm first={operation} onClose={onClose} />;

  const preview = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const most = Number(form.get('limit') ?? 0);
    const rate = Number(form.get('rate') ?? DEFAULT_RATE);
    try {
      const body = { request_id: request_id.current, kind, filter, rate, ...(most > 0 && { limit: most }) };
      setOperation(await write('POST /api/operations', {}, body));
    } catch (error) {
      const failed = problemOf(error);
      request_id.current = nextRequestId(request_id.current, failed);
      setProblem(failed);
    }
  };
  return (
    <Dialog
      title={kinds.length === 1 ? `${KIND_WORDS[kind].name}: what matches` : 'Act on all that match'}
      onClose={onClose}
      actions={
        <>
          <button type="button" class="button" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" form="new-operation" class="button primary">
            Preview
          </button>
        </>
      }
    >
      <form id="new-operation" class="form" onSubmit={preview}>
        <FilterWords filter={filter} />
        {kinds.length > 1 && (
          <fieldset class="choices">
            <legend>What to do</legend>
            {kinds.map((option) => (
              <label key={option} class="choice">
                <input
                  type="radio"
                  name="kind"
                  value={option}
                  checked={option === kind}
                  onChange={() => setKind(option)}
                />
                <span>
                  <strong>{KIND_WORDS[option].name}</strong>
                  <span class="soft">{KIND_WORDS[option].does}</span>
                </span>
              </label>
            ))}
          </fieldset>
        )}
        {kinds.length === 1 && <p>{KIND_WORDS[kind].does}</p>}
        <div class="form-row">
          <Field
            label="Per second"
            name="rate"
            type="number"
            value={String(DEFAULT_RATE)}
            min={0.1}
            max={500}
            step="any"
          />
          <Field label="At most" name="limit" type="number" min={1} step={1} hint="Empty: all of them" />
        </div>
        {problem !== undefined && <Problem problem={problem} />}
      </form>
    </Dialog>
  );
}

/** Shows what was found; the start takes exactly that, and nothing that came later. */
function Confirm({ first, onClose }: { readonly first: OperationView; readonly onClose: () => void }) {
  const session = useContext(SessionContext);
  const { operation_id } = first;
  const request_id = useRef(newRequestId());
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<ProblemBody>();
  const { data = first, problem = refused } = useRead(
    'GET /api/operations/{operation_id}',
    { operation_id },
    {},
    { every: Math.min(1_000, session.poll_ms) },
  );
  const words = KIND_WORDS[data.kind];
  const taken = data.preview?.taken ?? 0;
  const start = async () => {
    setBusy(true);
    try {
      await write('POST /api/operations/{operation_id}/start', { operation_id }, { request_id: request_id.current });
      showToast('done', `${words.name}: ${plural(taken, 'notification')} begun. Its progress is under operations.`);
      onClose();
      navigate('/operations');
    } catch (error) {
      setBusy(false);
      setRefused(problemOf(error));
    }
  };
  return (
    <Dialog
      title={`${words.name}: preview`}
      onClose={onClose}
      actions={
        <>
          <button type="button" class="button" onClick={onClose}>
            Leave it
          </button>
          <button
            type="button"
            class="button primary"
            disabled={busy || data.status !== 'ready' || taken === 0}
            onClick={start}
          >
            {data.preview === null ? 'Counting…' : `${words.name} ${plural(taken, 'notification')}`}
          </button>
        </>
      }
    >
      <FilterWords filter={data.filter} />
      {data.preview === null ? (
        <Loading what="the preview" lines={3} />
      ) : (
        <Preview operation={data} counts={data.preview} />
      )}
      {data.error !== null && <p class="note tone-bad">{data.error}</p>}
      {problem !== undefined && <Problem problem={problem} />}
      {data.command !== null && <Shell label="The same in the shell" command={data.command} />}
      {data.command === null && data.error !== null && (
        <Shell label="In the shell" command={opsCommand(`audit --target ${operation_id}`, session)} />
      )}
    </Dialog>
  );
}

interface PreviewProps {
  readonly operation: OperationView;
  readonly counts: OperationCounts;
}

/** What matches, what is left out and why, and the first few of what is taken. */
function Preview({ operation: { kind, cut_off, sample }, counts: { matched, taken, excluded } }: PreviewProps) {
  const reasons = Object.entries(excluded).filter(([, number]) => number > 0);
  return (
    <div class="preview">
      <dl class="preview-figures">
        <div>
          <dt>Match</dt>
          <dd>{count(matched)}</dd>
        </div>
        <div>
          <dt>Left out</dt>
          <dd>{count(matched - taken)}</dd>
        </div>
        <div class="is-main">
          <dt>{KIND_WORDS[kind].name}</dt>
          <dd>{count(taken)}</dd>
        </div>
      </dl>
      {reasons.length > 0 && (
        <ul class="reasons">
          {reasons.map(([reason, number]) => (
            <li key={reason}>
              <strong>{count(number)}</strong> {exclusionWord(reason)}
            </li>
          ))}
        </ul>
      )}
      <p class="faint">Nothing that came after {localTime(cut_off)} is taken.</p>
      {sample.length > 0 && (
        <details>
          <summary>The first {sample.length}</summary>
          <ul class="samples-list">
            {sample.map((view) => (
              <li key={String(view['log_id'])}>
                <a
                  class="mono"
                  href={`/notifications/${encodeURIComponent(String(view['log_id']))}`}
                  target="_blank"
                  rel="noopener"
                >
                  {String(view['log_id'])}
                </a>
                <span class="soft">
                  {String(view['tenant_id'] ?? '')} · {stateWord(view.state).name}
                </span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
