import { useContext, useState } from 'preact/hooks';
import { OPERATION_KINDS, type OperationKind } from '../../../src/application/contract/choices.ts';
import type { OperationCounts, OperationFilter, OperationView } from '../../../src/application/contract/operations.ts';
import { write } from '../../data/api.ts';
import { SessionContext } from '../../data/session.ts';
import { useRead } from '../../data/use-read.ts';
import { count, plural, rich, said, t } from '../../language/language.ts';
import { navigate } from '../../navigation/router.ts';
import { Decision, FormDialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { LogIds } from '../../parts/screen.tsx';
import { Ops } from '../../parts/shell-command.tsx';
import { Loading } from '../../parts/states.tsx';
import { localTime } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { columnText, exclusionWord, KIND_WORDS, stateWord } from '../../parts/words.ts';
import { ChooseFilter, FilterWords } from './filter.tsx';

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
  const preview = async (request_id: string, form: FormData) => {
    const most = Number(form.get('limit') ?? 0);
    const rate = Number(form.get('rate') ?? DEFAULT_RATE);
    const text = (name: string) => String(form.get(name) ?? '').trim();
    const isCorrection = kind === 'correct';
    const body = {
      request_id,
      kind,
      filter: { ...filter, ...(text('tenant') !== '' && { tenant: text('tenant') }) },
      rate,
      ...(most > 0 && { limit: most }),
      ...(isCorrection && { integration_config_id: text('integration_config_id') }),
    };
    setOperation(await write('POST /api/operations', {}, body));
  };
  if (filter === undefined) return <ChooseFilter onClose={onClose} onChosen={setFilter} />;
  if (operation !== undefined) return <Start first={operation} onClose={onClose} />;
  return (
    <FormDialog
      title={
        kinds.length === 1 ? t('{name}: what matches', { name: KIND_WORDS[kind].name }) : t('Act on all that match')
      }
      onClose={onClose}
      act={t('Preview')}
      send={preview}
    >
      <FilterWords filter={filter} />
      {kinds.length > 1 && (
        <fieldset class="choices">
          <legend>{t('What to do')}</legend>
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
      {kind === 'correct' && (
        <div class="form-row">
          <Field label={t('Integration to send by')} name="integration_config_id" required />
          {filter.tenant === undefined && (
            <Field label={t('Tenant')} name="tenant" required hint={t('An integration belongs to one')} />
          )}
        </div>
      )}
      <div class="form-row">
        <Field
          label={t('Per second')}
          name="rate"
          type="number"
          value={String(DEFAULT_RATE)}
          min={0.1}
          max={500}
          step="any"
        />
        <Field label={t('At most')} name="limit" type="number" min={1} step={1} hint={t('Empty: all of them')} />
      </div>
    </FormDialog>
  );
}

/** Shows what was found; the start takes exactly that, and nothing that came later. */
function Start({ first, onClose }: { readonly first: OperationView; readonly onClose: () => void }) {
  const session = useContext(SessionContext);
  const { operation_id } = first;
  const { data = first, ...read } = useRead(
    'GET /api/operations/{operation_id}',
    { operation_id },
    {},
    { every: Math.min(1_000, session.poll_ms) },
  );
  const words = KIND_WORDS[data.kind];
  const taken = data.preview?.taken ?? 0;
  const start = async (request_id: string) => {
    await write('POST /api/operations/{operation_id}/start', { operation_id }, { request_id });
    showToast(
      'done',
      t('{action}: {n} begun. Its progress is under operations.', {
        action: words.name,
        n: plural(taken, 'notification'),
      }),
    );
    onClose();
    navigate('/operations');
  };
  return (
    <Decision
      title={t('{name}: preview', { name: words.name })}
      onClose={onClose}
      act={
        data.preview === null
          ? t('Counting…')
          : t('{action} {n}', { action: words.name, n: plural(taken, 'notification') })
      }
      disabled={data.status !== 'ready' || taken === 0}
      because={data.preview !== null && taken === 0 ? t('Nothing that matches can be taken.') : undefined}
      run={start}
      problem={read.problem}
      command={data.command ?? undefined}
    >
      <FilterWords filter={data.filter} />
      {data.integration_config_id !== null && (
        <p>{rich('By {integration}', { integration: <code>{data.integration_config_id}</code> })}</p>
      )}
      {data.preview === null ? (
        <Loading what={t('the preview')} lines={3} />
      ) : (
        <Preview operation={data} counts={data.preview} />
      )}
      {data.error !== null && <p class="note tone-bad">{said(data.error)}</p>}
      {data.command === null && data.error !== null && <Ops command={`audit --target ${operation_id}`} />}
    </Decision>
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
    <div class="rows">
      <dl class="preview-figures">
        {Object.entries({
          [t('Match')]: matched,
          [t('Left out')]: matched - taken,
          [KIND_WORDS[kind].name]: taken,
        }).map(([name, number], i) => (
          <div key={name} class={i === 2 ? 'is-main' : undefined}>
            <dt>{name}</dt>
            <dd>{count(number)}</dd>
          </div>
        ))}
      </dl>
      {reasons.length > 0 && (
        <ul class="reasons">
          {reasons.map(([reason, number]) => (
            <li key={reason}>
              {rich('{n} {why}', { n: <strong>{count(number)}</strong>, why: exclusionWord(reason) })}
            </li>
          ))}
        </ul>
      )}
      <p class="faint">{t('What came after {time} is left out.', { time: localTime(cut_off) })}</p>
      {sample.length > 0 && (
        <details>
          <summary>
            {sample.length < taken ? t('The first {n}', { n: sample.length }) : plural(taken, 'notification')}
          </summary>
          <ul class="rows tight">
            {sample.map((view) => (
              <li key={String(view['log_id'])}>
                <LogIds of={[columnText(view, 'log_id')]} beside />
                <span class="soft">
                  {columnText(view, 'tenant_id')} · {stateWord(view.state).name}
                </span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
