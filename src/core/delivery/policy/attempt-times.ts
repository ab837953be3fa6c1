/**
 * How long the parts of an attempt may take, in milliseconds, and how they depend on each other. What a call protects has
 * a rule for the case that it does not answer in time (docs/decisions/delivery/calls-that-hang.md).
 */

/** The longest invocation of a channel function: its Lambda timeout. */
export const FUNCTION_MS = 60_000;
/** The clock of an instance is right to within this. */
export const CLOCK_ERROR_MS = 2_500;
/** A claim outlives its function: the worker that finds it expired knows that its holder has crashed. */
export const CLAIM_MS = FUNCTION_MS + 2 * CLOCK_ERROR_MS;

/** Content, credential and the provider's answer together. */
export const SEND_MS = 20_000;
/** The content, with the key that opens it; part of SEND_MS. */
export const CONTENT_CALL_MS = 5_000;
/** A credential; part of SEND_MS. Without an answer, the last one that was read counts. */
export const SECRET_CALL_MS = 4_000;

/** A call to PipelineState. Without an answer, budgets are used alone and slowly, and breakers are as last known. */
export const STATE_CALL_MS = 2_000;
/** A call to RetryLog. Without an answer, the row of an accepted attempt keeps the record. */
export const RECORD_CALL_MS = 3_000;
/** A call to SQS. Without an answer, a sweep queues the message, or a returned one is visible later. */
export const QUEUE_CALL_MS = 3_000;
/** Any other call to a table, with what the client repeats. Without an answer, the message comes back. */
export const TABLE_CALL_MS = 10_000;

/** A reservation of all calls that it needs begins no further one after this. */
export const RESERVE_MS = 3_000;
/** From a claim to the send: what budgets and breakers say, and the wait for a slot. */
const GATE_MS = 5_000;
/** From the provider's answer to the settlement: the breaker, two tries of RetryLog, and the row. */
const OUTCOME_MS = 10_000;

/** With less time left no row is claimed: its message goes back untouched. */
export const TIME_TO_BEGIN_MS = GATE_MS + SEND_MS + OUTCOME_MS;
/** With less time left a claimed row is not sent: its outcome might not be kept. Its attempt is given back. */
export const TIME_TO_SEND_MS = SEND_MS + OUTCOME_MS;

const RELATIONS: readonly (readonly [boolean, string])[] = [
  [CONTENT_CALL_MS + SECRET_CALL_MS < SEND_MS, 'the provider has the larger part of a send'],
  [2 * STATE_CALL_MS < GATE_MS, 'an attempt is sent although budgets and breakers do not answer'],
  [STATE_CALL_MS + 2 * RECORD_CALL_MS < OUTCOME_MS, 'the row of an accepted attempt can still take its record'],
  [STATE_CALL_MS + RECORD_CALL_MS + QUEUE_CALL_MS < OUTCOME_MS, 'a failed attempt is settled although SQS hangs'],
  [RESERVE_MS + STATE_CALL_MS + TIME_TO_BEGIN_MS < FUNCTION_MS, 'a batch begins although its reservation hangs'],
  [2 * TABLE_CALL_MS + TIME_TO_BEGIN_MS < FUNCTION_MS, 'a claim that hangs leaves the time to give its attempt back'],
  [FUNCTION_MS < CLAIM_MS, 'no two attempts overlap'],
];
for (const [holds, why] of RELATIONS) if (!holds) throw new Error(`The times of an attempt do not fit: ${why}.`);
