import { type Breaker, heldNow, shownPhaseOf } from '../breaker/breaker.ts';
import { clip } from '../model/text.ts';
import { DAY_MS, epochMs } from '../model/time.ts';
import type { Notice } from './death-notice.ts';

/** The breakers, and what was told of them. */
export interface DownProviders {
  list(): Promise<readonly Breaker[]>;
  /** Keeps that it was told; it changes nothing about the breaker. */
  note(id: string, noted: NonNullable<Breaker['noted']>): Promise<void>;
}

/** Days after which a provider is told again, once each: whoever looks after it may have left, and nothing ends by itself. */
const TOLD_AFTER_DAYS = [1, 3, 7] as const;

export interface ReportDownDeps {
  readonly providers: DownProviders;
  readonly publish: (notice: Notice) => Promise<void>;
  /** Name of the stack, for the commands in the notice. */
  readonly stack: string;
}

/**
 * Tells operators, and by the note producers (src/core/outcomes/state-outcomes.ts), which providers have been down for
 * days, with what waits for them. The note is written after the notice: a crash in between repeats a notice.
 * @returns the providers that were told
 */
export async function reportDownProviders(
  { providers, publish, stack }: ReportDownDeps,
  now: Date,
): Promise<readonly string[]> {
  const down = (await providers.list()).flatMap((breaker) => {
    const noted = newlyNoted(breaker, now);
    return noted === undefined ? [] : [{ breaker, noted }];
  });
  if (down.length === 0) return [];
  await publish(downNotice(down, stack));
  for (const { breaker, noted } of down) await providers.note(breaker.id, noted);
  return down.map(({ breaker }) => breaker.id);
}

/** What is to be told of it that was not told yet. */
function newlyNoted(breaker: Breaker, now: Date): NonNullable<Breaker['noted']> | undefined {
  if (shownPhaseOf(breaker, now) !== 'open') return undefined;
  const since = breaker.down_since;
  const days = TOLD_AFTER_DAYS.findLast((some) => now.getTime() - epochMs(since) >= some * DAY_MS);
  const told = breaker.noted?.since === since ? breaker.noted.days : 0;
  if (days === undefined || days <= told) return undefined;
  return { since, days, waiting: heldNow(breaker) };
}

type Down = readonly { readonly breaker: Breaker; readonly noted: NonNullable<Breaker['noted']> }[];

function downNotice(down: Down, stack: string): Notice {
  const [first] = down;
  const what = down.length === 1 ? (first?.breaker.id ?? '') : `${down.length} providers`;
  const lines = down.map(({ breaker: { id, error_type }, noted: { since, days, waiting } }) =>
    [
      `${id}: down for ${days === 1 ? 'a day' : days === 7 ? 'a week' : `${days} days`}, since ${since} (${error_type}).`,
      `  ${waiting === undefined ? 'What waits for it is not known.' : `About ${waiting} notifications wait for it.`}`,
    ].join('\n'),
  );
  const rest = [
    'Nothing is switched off by itself: what waits is given up at the end of its window, and new notifications are held.',
    `For the commands: export NOTIFICATION_RETRY_STACK=${stack}`,
    'What to do: docs/runbook.md#a-provider-is-down',
  ];
  return { subject: clip(`${stack}: ${what} down for days`, 100), text: `${[...lines, ...rest].join('\n\n')}\n` };
}
