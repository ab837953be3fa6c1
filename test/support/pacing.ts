import { rowToSend } from '../../src/core/delivery/claim-plan.ts';
import { type ClaimStore, PASS_THROUGH, type ProviderGate } from '../../src/core/delivery/ports.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import type { Clock } from '../../src/core/model/time.ts';
import { ACCOUNT, createAdmission } from '../../src/core/pacing/admission.ts';
import { Pacer, type PacerDeps } from '../../src/core/pacing/pacer.ts';
import { DEFAULT_PACING_POLICY } from '../../src/core/pacing/pacing-policy.ts';
import type { Allowance } from '../../src/core/pacing/plan-reservation.ts';
import type { AdmissionDeps, AdmissionGate, Admitted } from '../../src/core/pacing/ports.ts';
import { ReceiverPacer, type ReceiverPacerDeps } from '../../src/core/pacing/receiver-pacer.ts';
import type { VirtualTime } from '../../tools/simulation/engine/virtual-time.ts';
import { MemoryTables } from '../../tools/simulation/twins/memory-tables.ts';
import { MemoryPacing } from '../../tools/simulation/twins/pipeline-state.ts';

/** Nothing is limited. */
export function unpaced({ admit }: ProviderGate = PASS_THROUGH): AdmissionGate {
  return { screen: async (now) => ({ now, later: [], waited: 0, admit }) };
}

/** Admission as one worker uses it: a row is of the batch that was screened last. */
export interface WorkerGate extends AdmissionGate, ProviderGate {}

export function batchByBatch(admission: AdmissionGate): WorkerGate {
  let last: Promise<Admitted> | undefined;
  const screen: AdmissionGate['screen'] = (batch) => {
    last = admission.screen(batch);
    return last;
  };
  return { screen, admit: async (row, named) => (await (last ?? screen([]))).admit(row, named) };
}

/** A worker's budgets, in memory unless the test gives another store. */
export function pacerAt(clock: Clock, deps: Partial<PacerDeps> = {}): Pacer {
  return new Pacer({
    store: new MemoryPacing().store,
    channel: 'email',
    policy: DEFAULT_PACING_POLICY,
    clock,
    random: Math.random,
    workers: 15,
    ...deps,
  });
}

/** A worker's budgets of receivers, in memory unless the test gives another store. */
export function receiversAt(clock: Clock, deps: Partial<ReceiverPacerDeps> = {}): ReceiverPacer {
  return new ReceiverPacer({ store: new MemoryPacing().store, channel: 'slack', clock, workers: 15, ...deps });
}

/** The gate of a worker of e-mail, by budgets for the whole account. @param rows of what may be postponed twice */
export function accountGate(
  pacer: Pacer,
  { clock, pause }: Pick<VirtualTime, 'clock' | 'pause'>,
  rows: Pick<ClaimStore, 'read'> = new MemoryTables(clock).rows,
  more: Partial<AdmissionDeps> = {},
  receivers = receiversAt(clock),
): WorkerGate {
  return batchByBatch(
    createAdmission({
      breakers: PASS_THROUGH,
      channel: 'email',
      budgets: {
        reserve: async (ask) => (await pacer.reserve([ask]))[0] ?? { slots: [], waits: [] },
        exceeded: (limit) => pacer.exceeded(limit),
        reserveAt: async (ask) => (await receivers.reserve([ask]))[0] ?? { slots: [], waits: [] },
        blocked: (key, until) => receivers.blocked(key, until),
      },
      receiver: ACCOUNT,
      mayUse: async () => true,
      rowToSend: (received) => rowToSend(received, { rows, clock, policy: DEFAULT_RETRY_POLICY }),
      policy: DEFAULT_RETRY_POLICY,
      clock,
      pause,
      ...more,
    }),
  );
}

export const slotsOf = (allowance: Allowance | undefined): number[] => [...(allowance?.slots ?? [])];
