import {
  isWorkedOn,
  type KeptVerification,
  startVerification,
  stopVerification,
} from '../../core/verify/kept-verification.ts';
import type { Verification } from '../../core/verify/verification.ts';
import type { Decide } from '../audit.ts';
import type { VerificationView } from '../contract/operations.ts';
import type { RouteDeps } from '../route.ts';
import { equation, verified } from './verify.ts';

type ShowDeps = Pick<RouteDeps, 'verification' | 'clock'>;
type Latest = { readonly verification: VerificationView | null };

export async function showVerification({ verification, clock }: ShowDeps): Promise<Latest> {
  const found = await verification.read();
  return { verification: found === undefined ? null : viewOf(found, clock()) };
}

function viewOf(found: KeptVerification, now: Date): VerificationView {
  const { status, started_by, started_at, ended_at = null, progress, state, error = null } = found;
  const isDead = status === 'running' && !isWorkedOn(found, now);
  const result = status === 'done' ? resultOf(JSON.parse(state)) : null;
  const { phase, scanned, violated, read_units, suspects } = progress;
  const shown = { phase, scanned, violated, read_units, suspects };
  return { status: isDead ? 'interrupted' : status, started_by, started_at, ended_at, progress: shown, result, error };
}

function resultOf(state: Verification): VerificationView['result'] {
  const { holds, equation: accepted, emails, recipients, violations, ...rest } = verified(state);
  const { total, ...states } = recipients;
  const { records_checked, contents_without_row, erased, set_aside_in_clear, violated } = rest;
  const newsletters = `recipients of ${emails} newsletters`;
  return {
    holds,
    equations: [accepted, ...(emails > 0 ? [equation(newsletters, total, Object.entries(states))] : [])],
    ...{ records_checked, contents_without_row, erased, set_aside_in_clear, violated, violations },
  };
}

/** @throws Problem when one is running, or none that could be stopped */
export async function decideVerification(
  act: 'start' | 'stop',
  who: string,
  deps: ShowDeps & Pick<RouteDeps, 'startVerification'>,
  decide: Decide,
): Promise<Latest> {
  const { verification: store, clock, startVerification: startRun } = deps;
  await decide({ what: `verification.${act}`, on: [] }, async () => {
    await (act === 'start' ? startVerification(who, { store, clock, startRun }) : stopVerification({ store, clock }));
    return { answer: {}, result: { accepted: 1 } };
  });
  return showVerification(deps);
}
