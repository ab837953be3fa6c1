import type { OperationView } from '../../../src/application/contract/operations.ts';
import { count, rich, t } from '../../language/language.ts';
import { Dotted, GroupLine } from '../../parts/screen.tsx';
import { Time } from '../../parts/time.tsx';
import { exclusionWord, KIND_WORDS, OPERATION_WORDS } from '../../parts/words.ts';

export function Progress({
  operation: { preview, progress, kind, status, rate, rate_now, eta },
}: {
  readonly operation: OperationView;
}) {
  const total = preview?.taken ?? progress.matched;
  const share = total === 0 ? 100 : Math.min(100, (100 * progress.taken) / total);
  return (
    <div class="rows tight">
      <div
        class="bar"
        role="progressbar"
        aria-label={t('Progress')}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={Math.min(total, progress.taken)}
        aria-valuetext={t('{n} of {total}', { n: progress.taken, total })}
      >
        <span class={`tone-${OPERATION_WORDS[status].tone}`} style={{ width: `${share}%` }} />
      </div>
      <p class="soft">
        <Dotted
          of={[
            rich('{n} of {total} {done}', {
              n: <strong>{count(progress.taken)}</strong>,
              total: count(total),
              done: KIND_WORDS[kind].done,
            }),
            rate_now !== null && t('{n} of at most {most} per second', { n: count(rate_now), most: count(rate) }),
            eta !== null && rich('ends {time}', { time: <Time at={eta} /> }),
            progress.left_to_sweep > 0 && t('{n} are sent by the next sweep', { n: count(progress.left_to_sweep) }),
          ]}
        />
      </p>
    </div>
  );
}

export function Reasons({ excluded }: { readonly excluded: OperationView['progress']['excluded'] }) {
  const reasons = Object.entries(excluded).filter(([, number]) => number > 0);
  if (reasons.length === 0) return null;
  return (
    <GroupLine name={t('Left out')}>
      <p class="soft">
        {reasons
          .map(([reason, number]) => t('{n} {why}', { n: count(number), why: exclusionWord(reason) }))
          .join(' · ')}
      </p>
    </GroupLine>
  );
}
