import { CLAIM_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import type { RecordStore, RowStore } from '../../../src/core/delivery/ports.ts';
import { type Erasable, forgetOne } from '../../../src/core/forget/forget-one.ts';
import { CHANNELS } from '../../../src/core/model/channels.ts';
import { BASE_SHARDS } from '../../../src/core/model/index-shards.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import { randomToken } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import { type AuditRecord, tally } from '../../../src/core/operator/audit.ts';
import { cancel, giveUp } from '../../../src/core/operator/cancel.ts';
import { type CorrectionStore, correct } from '../../../src/core/operator/correct.ts';
import { createOperation, operate } from '../../../src/core/operator/operations/operate.ts';
import type { Kind, OperationRows, OperationStore } from '../../../src/core/operator/operations/operation.ts';
import { runOperation } from '../../../src/core/operator/operations/run-operation.ts';
import { retryNow } from '../../../src/core/operator/retry-now.ts';
import {
  newVerification,
  type Page,
  REREAD_AFTER_MS,
  type VerifyPorts,
} from '../../../src/core/verify/verification.ts';
import { verify } from '../../../src/core/verify/verify.ts';
import type { Stored } from '../audit/memory.ts';
import type { Env, Program } from './actor.ts';
import { portOf } from './ports.ts';
import { send } from './programs.ts';
import type { LetterCounts } from './state.ts';

/** Letters by SQS's counts, those of all channels by one call. */
function countedLetters(env: Env): VerifyPorts['letters'] {
  let counted: Promise<LetterCounts> | undefined;
  return {
    channels: CHANNELS,
    async counts(channel) {
      counted ??= env.call<LetterCounts>('audit.letters');
      return (await counted)[channel] ?? { letters: 0, on_the_way: 0 };
    },
    async *dead() {
      counted = undefined;
      yield await env.call<Page>('audit.dead');
    },
    async *walk() {},
  };
}

/** An operator who verifies in the middle of whatever happens, and must be told of nothing. */
async function verifyAll(env: Env): Promise<void> {
  const { clock, random } = env;
  const page = (of: string) => async (segment: number) =>
    segment === 0 ? env.call<Page>(`audit.${of}`) : { items: [], read_units: 0 };
  const state = newVerification({ sample: 10, letters: false }, clock());
  await verify(state, {
    ports: {
      rows: { page: page('rows'), read: (log_ids) => env.call('audit.read', log_ids) },
      contents: { page: page('contents') },
      records: (log_id) => env.call('audit.records', log_id),
      letters: countedLetters(env),
    },
    terms: async () => ({ shards: BASE_SHARDS.work }),
    clock,
    random,
    rate: Number.POSITIVE_INFINITY,
    pause: () => env.call('time.pause', REREAD_AFTER_MS),
    isStopping: () => false,
  });
  for (const { rule, says, log_id, channel } of state.violations) {
    if (await env.call<boolean>('audit.isKnown', rule, log_id)) continue;
    env.fault(new Error(`verify says of ${log_id ?? channel}: ${rule}: ${says}`));
  }
}

/** An attempt that is under way ends first. */
async function erase(env: Env, log_id: string, run_id: string, records: RecordStore): Promise<void> {
  const rows = portOf<RowStore>(env, 'forgetRows', 'read', 'change');
  const erasable = portOf<Erasable>(env, 'erasable', 'eraseContent', 'eraseRecords');
  for (let looks = 0; looks < 3; looks++) {
    const { result } = await forgetOne(log_id, run_id, () => false, { rows, records, erasable, clock: env.clock });
    if (result !== 'claimed' && result !== 'changing') return env.call('operator.erased', log_id);
    await env.call('time.pause', CLAIM_MS);
  }
}

/** By another integration they go to the same recipient. */
const CORRECTED = { integration_config_id: 'integration-2' };

/** All that there is: looked at, then begun, as the console does. @param kind what it does to each */
async function operateOnAll(env: Env, kind: Kind, operation_id: string): Promise<void> {
  const { clock, random } = env;
  const deps = {
    operations: portOf<OperationStore>(env, 'operations', 'create', 'read', 'change', 'list'),
    candidates: portOf<OperationRows>(env, 'candidates', 'page'),
    rows: portOf<RowStore>(env, 'operatorRows', 'read', 'change'),
    ...portOf<Pick<CorrectionStore, 'correct'>>(env, 'corrections', 'correct'),
    send: send(env),
    startRun: async () => {},
    pause: (ms: number) => env.call<void>('time.pause', ms),
    newId: () => randomToken(random),
    policy,
    clock,
  };
  const bounds = { operation_id, filter: {}, asked: {}, rate: 100, include_stopped: kind === 'redrive' };
  try {
    await createOperation({ ...bounds, kind, created_by: 'mori', ...(kind === 'correct' && CORRECTED) }, deps);
    await runOperation(operation_id, deps, () => false);
    await operate(operation_id, 'start', deps);
    await runOperation(operation_id, deps, () => false);
  } catch (error) {
    // Its preview could not be made.
    if (!(error instanceof Problem)) throw error;
  }
}

/** Whose retries start anew by a command. */
export function revived(command: keyof typeof COMMANDS, of: string, rows: readonly Stored[]): string[] {
  if (command === 'retry' || command === 'wish') return [of];
  return command === 'bulk' && of === 'redrive' ? rows.map(({ log_id }) => String(log_id)) : [];
}

/** What an operator does, in words. */
export const COMMANDS = {
  cancel: 'the cancellation',
  retry: 'the retry',
  wish: "a user's retry",
  bulk: 'the bulk',
  give_up: 'the giving up',
  correct: 'the correction',
  erase: 'the erasure',
  verify: 'the verification',
} as const;

/** Actions that the audit log keeps, and whether it names notifications by them: of an erasure it names the tenant. */
const AUDITED = new Map(['cancel', 'retry', 'give_up'].map((one) => [one, one])).set('erase', 'forget');

/** The command, with its record in the audit log: before it begins, and with what came of it. */
export function noted(command: keyof typeof COMMANDS, log_id: string, run_id: string, tenant_id = 'tenant-1'): Program {
  const run = operator(command, log_id, run_id);
  const what = AUDITED.get(command);
  if (what === undefined) return run;
  return async (env) => {
    const on = what === 'forget' ? tenant_id : log_id;
    const of = { audit_id: `${command} ${log_id} ${run_id}`, what, on: [on], targets: 1 };
    const record: AuditRecord = { ...of, at: env.clock().toISOString(), who: 'mori', role: 'operator', request_id: '' };
    await env.call('operator.noted', record);
    const answer = (await run(env)) as Results | { readonly results: Results } | undefined;
    if (answer === undefined) return;
    const result = tally('results' in answer ? answer.results : answer);
    await env.call('operator.noted', { ...record, result });
  };
}

/** The record of an operator who has redriven the letters of all channels. */
export function redriveOf(now: number): AuditRecord {
  const at = new Date(now).toISOString();
  const of = { audit_id: `redrive ${at}`, what: 'dlq.redrive', on: CHANNELS, targets: CHANNELS.length };
  return { ...of, at, who: 'mori', role: 'operator', request_id: '', result: { moved: 1 } };
}

type Results = readonly { readonly result: string }[];

export function operator(command: keyof typeof COMMANDS, log_id: string, run_id: string): Program {
  return (env) => {
    const { clock } = env;
    if (command === 'verify') return verifyAll(env);
    const rows = portOf<RowStore>(env, 'operatorRows', 'read', 'change');
    if (command === 'bulk') return operateOnAll(env, log_id as Kind, `op-${log_id}-${run_id}`);
    const retried = { rows, send: send(env), policy, clock };
    if (command === 'retry') return retryNow([log_id], run_id, retried);
    if (command === 'wish') return retryNow([log_id], `user-${run_id}`, { ...retried, requested_by: 'user' });
    if (command === 'correct') {
      const corrections = portOf<CorrectionStore>(env, 'corrections', 'read', 'correct');
      return correct(log_id, { recipient: `new-${log_id}@example.com` }, run_id, { ...retried, corrections });
    }
    if (command === 'give_up') return giveUp([log_id], { rows, clock });
    const records = portOf<RecordStore>(env, 'records', 'putIfAbsent', 'replace', 'find');
    if (command === 'erase') return erase(env, log_id, run_id, records);
    return cancel([log_id], run_id, { rows, records, clock });
  };
}
