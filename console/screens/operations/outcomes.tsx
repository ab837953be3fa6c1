import { useEffect, useState } from 'preact/hooks';
import type { OperationView } from '../../../src/application/contract/operations.ts';
import { useRead } from '../../data/use-read.ts';
import { count, t } from '../../language/language.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { GroupLine, LogIds } from '../../parts/screen.tsx';

const OUTCOMES = [
  { name: 'delivered', one: t('delivered'), tone: 'good' },
  { name: 'waiting', one: t('on its way'), many: t('on their way'), tone: 'wait' },
  { name: 'dead', one: t('dead'), again: t('dead again'), tone: 'bad' },
  { name: 'stopped', one: t('stopped'), tone: 'none' },
] as const;
/** Links per outcome. */
const LINKS = 5;
/** Milliseconds between two looks, while something is on its way. */
const LOOK_MS = 5_000;
/** After the end of an operation, whom it took is known. */
const SEEN_MS = 60_000;

/** Where what it took stands now, with the way to each. */
export function Outcomes({ operation, open }: { readonly operation: OperationView; readonly open: boolean }) {
  const [asked, setAsked] = useState(open);
  const [settled, setSettled] = useState(false);
  const { operation_id, progress, status, kind, ended_at } = operation;
  const { data } = useRead(
    'GET /api/operations/{operation_id}',
    { operation_id },
    {},
    { when: asked, every: settled ? 0 : LOOK_MS },
  );
  const outcomes = data?.outcomes;
  // The rows say a moment later which operation took them.
  const isComplete = outcomes?.looked_at === progress.taken || Date.now() - Date.parse(ended_at ?? '') > SEEN_MS;
  const isSettled = outcomes?.waiting.length === 0 && status !== 'running' && isComplete;
  useEffect(() => setSettled(isSettled), [isSettled]);
  if (progress.taken === 0) return null;
  if (!asked)
    return (
      <div class="group-line">
        <Button
          name={t('What became of them')}
          more={t('in {operation_id}', { operation_id })}
          kind="link"
          onClick={() => setAsked(true)}
        />
      </div>
    );
  if (!outcomes) return null;
  const first = outcomes.looked_at < progress.taken ? count(outcomes.looked_at) : undefined;
  return (
    <GroupLine name={t('What became of them')}>
      <ul class="rows tight" aria-label={t('What became of them')}>
        {OUTCOMES.filter(({ name }) => outcomes[name].length > 0).map(({ name, tone, ...words }) => (
          <li key={name} class="line">
            <Badge tone={tone}>
              {numbered(count(outcomes[name].length), first, wordFor(words, outcomes[name].length, kind))}
            </Badge>
            <span class="line">
              <LogIds of={outcomes[name].slice(0, LINKS)} />
              {outcomes[name].length > LINKS && (
                <span class="faint">{t('and {n} more', { n: count(outcomes[name].length - LINKS) })}</span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </GroupLine>
  );
}

const numbered = (n: string, first: string | undefined, what: string): string =>
  first === undefined ? t('{n} {what}', { n, what }) : t('{n} of the first {first} {what}', { n, first, what });

interface OutcomeWords {
  readonly one: string;
  readonly many?: string;
  readonly again?: string;
}

function wordFor({ one, many = one, again }: OutcomeWords, number: number, kind: string): string {
  if (again !== undefined && kind === 'redrive') return again;
  return number === 1 ? one : many;
}
