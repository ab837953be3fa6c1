import * as v from 'valibot';
import { type Decision, decisionOf } from '../../core/operator/audit.ts';
import { equationsOf, verified } from '../../core/verify/findings.ts';
import {
  isWorkedOn,
  type KeptVerification,
  startVerification,
  stopVerification,
} from '../../core/verify/kept-verification.ts';
import type { Verification } from '../../core/verify/verification.ts';
import { OPERATION_ACTIONS } from '../contract/choices.ts';
import { decisionBody } from '../contract/fields.ts';
import {
  createOperationBody,
  latestVerification,
  operationList,
  operationsQuery,
  operationView,
  type VerificationView,
} from '../contract/operations.ts';
import { fromCursor, placeOf, toCursor } from '../cursor.ts';
import { decideOperation, listOperations, newOperation, showOperation } from '../operations.ts';
import { decision, list, type RouteDeps, show } from '../route.ts';

const place = placeOf(v.strictObject({ before: v.pipe(v.string(), v.minLength(1), v.maxLength(100)) }));

const ACTS = {
  start: { summary: 'Starts a bulk operation', command: 'replay --id' },
  pause: { summary: 'Pauses a bulk operation', command: 'audit --target' },
  resume: { summary: 'Goes on with a bulk operation that is paused or failed', command: 'replay --id' },
  cancel: { summary: 'Ends a bulk operation; what it took stays done', command: 'audit --target' },
} as const;

/** Bulk operations: made as a preview, started, paused, resumed, cancelled. */
export const OPERATION_ROUTES = [
  list('GET /api/operations', operationsQuery, {
    operation_id: 'listOperations',
    summary: 'Bulk operations, newest first',
    answer: operationList,
    command: ['replay --dry-run'],
    async handle({ input: { limit, cursor } }, deps) {
      const { operations, next } = await listOperations({ limit, ...fromCursor(place, cursor) }, deps);
      return { operations, next_cursor: toCursor(next) };
    },
  }),
  decision('POST /api/operations', createOperationBody, {
    operation_id: 'createOperation',
    summary: 'Makes a bulk operation and its preview; nothing changes before its start',
    answer: operationView,
    command: ['replay --dry-run'],
    decide: ({ caller, input }, deps) => newOperation({ ...input, created_by: caller.who }, deps),
    show: ({ answer }, _, deps) => showOperation(answer.operation_id, deps),
  }),
  show('GET /api/operations/{operation_id}', {
    operation_id: 'getOperation',
    summary: 'A bulk operation with its progress',
    answer: operationView,
    command: ['replay --id', 'operation_id'],
    handle: ({ path }, deps) => showOperation(path.operation_id, deps),
  }),
  show('GET /api/verification', {
    operation_id: 'getVerification',
    summary: "The stage's latest verification, with its progress or what it found",
    answer: latestVerification,
    command: ['verify'],
    handle: (_, deps) => showVerification(deps),
  }),
  ...(['start', 'stop'] as const).map((act) =>
    decision(`POST /api/verification/${act}`, decisionBody, {
      operation_id: `${act}Verification`,
      summary: act === 'start' ? 'Verifies that nothing is lost; it reads only' : 'Ends the verification where it is',
      answer: latestVerification,
      command: ['verify'],
      decide: ({ caller }, deps) => decideVerification(act, caller.who, deps),
      show: (_, __, deps) => showVerification(deps),
    }),
  ),
  ...OPERATION_ACTIONS.map((action) =>
    decision(`POST /api/operations/{operation_id}/${action}`, decisionBody, {
      operation_id: `${action}Operation`,
      summary: ACTS[action].summary,
      answer: operationView,
      command: [ACTS[action].command, 'operation_id'],
      decide: ({ path }, deps) => decideOperation(path.operation_id, action, deps),
      show: (_, { path }, deps) => showOperation(path.operation_id, deps),
    }),
  ),
];

type ShowDeps = Pick<RouteDeps, 'verification' | 'clock'>;
type Latest = { readonly verification: VerificationView | null };

async function showVerification({ verification, clock }: ShowDeps): Promise<Latest> {
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
  const found = verified(state);
  const { holds, violations, records_checked, contents_without_row, erased, set_aside_in_clear, violated } = found;
  return {
    holds,
    equations: equationsOf(found),
    records_checked,
    contents_without_row,
    erased,
    set_aside_in_clear,
    violated,
    violations,
  };
}

/** Starts or stops a verification. `run` throws a Problem where one runs already, or none runs. */
function decideVerification(
  act: 'start' | 'stop',
  who: string,
  { verification: store, clock, startVerification: startRun }: ShowDeps & Pick<RouteDeps, 'startVerification'>,
): Decision<object> {
  return decisionOf({ what: `verification.${act}`, on: [] }, async () => {
    await (act === 'start' ? startVerification(who, { store, clock, startRun }) : stopVerification({ store, clock }));
    return { answer: {}, result: { accepted: 1 } };
  });
}
