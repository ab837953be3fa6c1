import * as v from 'valibot';
import { createCorrectionStore } from '../../adapters/dynamodb/operator/correction-store.ts';
import { mailbox } from '../../adapters/email/address.ts';
import { keyedHash } from '../../adapters/signing/hashed-ids.ts';
import { bodyFault, routeFault } from '../../core/intake/notification-request.ts';
import { defined } from '../../core/model/collections.ts';
import { INTAKE_API, type NotificationRow } from '../../core/model/notification.ts';
import { type FieldFault, Problem } from '../../core/model/problem.ts';
import { newRunId, type QueueMessage } from '../../core/model/queue-message.ts';
import { stateOf } from '../../core/model/row-state.ts';
import { type Decision, decisionOf, type Outcome } from '../../core/operator/audit.ts';
import { type Correction, checkCorrection, correct, planCorrection } from '../../core/operator/correct.ts';
import { check, invalid } from '../../http/check.ts';
import { CORRECTED, type CorrectAnswer, type CorrectedField, correctedEntries } from '../contract/notifications.ts';
import type { OperatorDeps } from '../deps.ts';
import { requireNotification } from '../notifications.ts';
import { type DeleteLetters, readContent, takenOf } from './actions.ts';

/** What became of a correction, without an address or a text. */
export type Corrected = Pick<CorrectAnswer, 'result' | 'because' | 'due' | 'changes'>;

interface Asked extends Correction {
  readonly shown?: string | undefined;
  readonly dry_run?: boolean;
  /** Takes what was queued. */
  readonly onQueued?: (message: QueueMessage) => void;
}

export function correctionStore({
  dynamodb,
  deployment,
  clock,
}: Pick<OperatorDeps, 'dynamodb' | 'deployment' | 'clock'>) {
  const { tables, recipientHashKey: hashKey } = deployment;
  return createCorrectionStore({ client: dynamodb, tables, sealer: deployment.sealer(dynamodb), hashKey, clock });
}

/**
 * Replaces recipient, subject, body or integration of a notification and sends it in another life, with a budget and a
 * window of its own. The audit log keeps the names of the fields with keyed hashes of the old and the new value. The
 * checks are part of `run`, which throws a Problem where the notification cannot be corrected, the channel cannot take
 * the value, or nothing would change: a repeated request, which finds the correction done, is answered before they run.
 */
export async function correctNotification(
  log_id: string,
  { shown, dry_run = false, onQueued, ...given }: Asked,
  deps: OperatorDeps & { readonly deleteLetters?: DeleteLetters },
): Promise<Decision<Corrected>> {
  const run_id = newRunId('manual', deps.newId());
  const planned = await plan(log_id, given, deps).catch((error: unknown) => {
    if (error instanceof Problem) return error;
    throw error;
  });
  const run = async (): Promise<Outcome<Corrected>> => {
    if (planned instanceof Problem) throw planned;
    const { asked, changes, due, row } = planned;
    if (dry_run) return { answer: { result: 'queued', due, changes }, result: {} };
    const { lanes, clock, deployment } = deps;
    const began = clock();
    const ports = { corrections: correctionStore(deps), send: lanes.send, policy: deployment.retry_policy, clock };
    const done = await correct(log_id, { ...asked, shown }, run_id, ports);
    if (done.result === 'queued' && done.message) onQueued?.(done.message);
    const wasDead = done.result === 'queued' && stateOf(row, began) === 'dead';
    if (wasDead) await deps.deleteLetters?.(takenOf([row], began), 0);
    const { result, because } = done;
    const more = { ...(because !== undefined && { because }), ...('due' in done && { due: done.due }) };
    return { answer: { result, ...more, changes }, result: { [result]: 1 } };
  };
  if (dry_run) return { audit: undefined, run };
  const changed = planned instanceof Problem ? {} : { changed: planned.hashes };
  return decisionOf({ what: 'correct', on: [log_id], details: { run_id, ...changed } }, run);
}

/** The fields that change, for the answer and for the audit log. @throws Problem */
async function plan(log_id: string, given: Correction, deps: OperatorDeps) {
  const asked = defined(check(v.strictObject(correctedEntries), given)) as Correction;
  const row = await requireNotification(log_id, deps);
  const possible = checkCorrection(row, asked, deps.clock());
  if ('refused' in possible) throw new Problem('conflict', `It cannot be corrected: ${possible.refused}.`);
  const stored: Correction = { ...(await readContent(row, deps)), integration_config_id: row.integration_config_id };
  // The same recipient again: what was wrong with it was repaired elsewhere, as on SES's suppression list.
  const isWrong = row.failure_reason === 'INVALID_RECIPIENT';
  const isNew = (field: CorrectedField) => asked[field] !== stored[field] || (field === 'recipient' && isWrong);
  const fields = CORRECTED.filter((field) => asked[field] !== undefined && isNew(field));
  if (fields.length === 0) throw new Problem('conflict', 'Nothing would change: it has these values already.');
  const faults = faultsIn(fields, { ...stored, ...asked }, row);
  if (faults.length > 0) throw invalid(faults);
  const { integration_config_id } = asked;
  if (integration_config_id !== undefined) await requireIntegration({ ...row, integration_config_id }, deps);
  const key = await deps.deployment.recipientHashKey();
  const both = <T>(show: (field: CorrectedField, values: Correction) => T) =>
    fields.map((field) => ({ field, from: show(field, stored), to: show(field, asked) }));
  return {
    row,
    asked: Object.fromEntries(fields.map((field) => [field, asked[field]])) as Correction,
    changes: both(shownAs),
    due: planCorrection(row, asked, { now: deps.clock(), policy: deps.deployment.retry_policy }).due,
    hashes: Object.fromEntries(
      both((...of) => correctionHash(key, row.tenant_id, ...of)).map(({ field, ...texts }) => [field, texts]),
    ),
  };
}

/** Refuses values that the channel, or the fallback channel, can never take. Only corrected fields are checked. */
function faultsIn(
  fields: readonly CorrectedField[],
  { recipient = '', body = '', integration_config_id }: Correction,
  { channel, fallback_channel }: NotificationRow,
): FieldFault[] {
  const isText = fields.includes('body');
  const isRouted = fields.includes('recipient') || fields.includes('integration_config_id');
  const isAddress = (text: string) => mailbox(text) !== undefined;
  const faults = [
    isRouted && routeFault({ channel, recipient, integration_config_id }, isAddress),
    isText && bodyFault(channel, body),
    isText && fallback_channel !== undefined && bodyFault(fallback_channel, body, 'fallback'),
  ];
  return faults.filter((fault) => fault !== undefined && fault !== false);
}

/** The integration must be one that the tenant may use. @throws Problem that does not say whose it is */
export async function requireIntegration(
  {
    channel,
    tenant_id,
    created_by,
    integration_config_id,
  }: Pick<NotificationRow, 'channel' | 'tenant_id' | 'created_by'> & { readonly integration_config_id: string },
  { deployment }: Pick<OperatorDeps, 'deployment'>,
): Promise<void> {
  const owner = {
    tenant_id,
    integration_config_id,
    ...(created_by === INTAKE_API && { chosen_by_tenant: true as const }),
  };
  const found = await (await deployment.integrations(channel)).load(v.looseObject({}), owner);
  if (found.ok) return;
  throw invalid([{ path: 'integration_config_id', rule: 'usable', message: `cannot be used: ${found.message}` }]);
}

/** A keyed hash for the audit log: with the key, a known value can be recognised, and no other way leads to it. */
export function correctionHash(
  key: string,
  tenant_id: string,
  field: CorrectedField,
  values: Correction,
): string | null {
  const value = values[field];
  if (value === undefined || field === 'integration_config_id') return value ?? null;
  return keyedHash(key, 'corrections', JSON.stringify([tenant_id, field, value]))
    .toString('base64url')
    .slice(0, 22);
}

/** For people: so that they see which one it is, and no screen or terminal shows an address. */
function shownAs(field: CorrectedField, values: Correction): string {
  const value = values[field];
  if (value === undefined) return 'none';
  if (field === 'integration_config_id') return value;
  if (field === 'recipient') return masked(value);
  return `${[...value].length} characters`;
}

function masked(recipient: string): string {
  const [, first = '', domain] = /^(.)[^@/]*@([^@/]+)$/u.exec(recipient) ?? [];
  if (domain !== undefined) return `${first}•••@${domain}`;
  const url = URL.parse(recipient);
  return url?.host ? `${url.protocol}//${url.host}/•••` : `${[...recipient].slice(0, 2).join('')}•••`;
}
