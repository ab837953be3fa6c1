import type { OperationCounts, OperationView } from '../../../src/operator-service/contract/operations.ts';
import { count, localTime } from '../../parts/time.tsx';
import { exclusionWord, KIND_WORDS, stateWord } from '../../parts/words.ts';

interface PreviewProps {
  readonly operation: OperationView;
  readonly counts: OperationCounts;
}

/** What matches, what is left out and why, and the first few of what is taken. */
export function Preview({ operation: { kind, cut_off, sample }, counts: { matched, taken, excluded } }: PreviewProps) {
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
