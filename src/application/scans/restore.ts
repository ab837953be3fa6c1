import { createContentStore } from '../../adapters/dynamodb/delivery/delivery-stores.ts';
import { createRestoreStore } from '../../adapters/dynamodb/operator/restore-store.ts';
import { recipientHash } from '../../adapters/signing/hashed-ids.ts';
import { CLOCK_ERROR_MS } from '../../core/delivery/policy/attempt-times.ts';
import { ContentUnreadableError } from '../../core/delivery/ports.ts';
import { newNotification, requestOf } from '../../core/intake/new-row.ts';
import { defined } from '../../core/model/collections.ts';
import { type AuditPlace, type AuditRecord, type Decision, decisionOf } from '../../core/operator/audit.ts';
import type { Operation } from '../../core/operator/operations/operation.ts';
import { actsSince, auditedFrom } from '../../core/restore/operator-acts.ts';
import type { ContentItem, RestorePorts, RestoreRun, RestoreState } from '../../core/restore/restore-state.ts';
import { restore } from '../../core/restore/run-restore.ts';
import type { OperatorDeps } from '../deps.ts';

export interface RestoreRequest {
  readonly copies: Partial<Record<'notification_log' | 'notification_content' | 'notification_retry_log', string>>;
  readonly restored_to: string;
}

type Given = Pick<RestoreRun, 'dry_run' | 'rate' | 'isStopping' | 'pause' | 'onProgress'>;

/** Units read and written per second unless an operator says otherwise. */
export const RESTORE_RATE = 500;

export function restoreTables(
  { copies, restored_to }: RestoreRequest,
  state: RestoreState,
  given: Given,
  deps: OperatorDeps,
): Decision<RestoreState> {
  const { dynamodb, deployment, clock } = deps;
  const audit = { what: 'restore', on: Object.values(copies), details: { restored_to, copies } };
  return decisionOf(given.dry_run ? undefined : audit, async () => {
    const { tables, retry_policy: policy } = deployment;
    const store = createRestoreStore({ client: dynamodb, tables, copies, clock });
    const acts = actsSince(restored_to, await audited(auditedFrom(restored_to), deps), await operationsOf(deps));
    await restore(state, {
      ...given,
      ...acts,
      restored_to,
      clocks_apart_ms: 2 * CLOCK_ERROR_MS,
      policy,
      clock,
      shards: await deps.shards(),
      random: Math.random,
      ports: { ...store, acceptedRow: acceptedRows(deps) },
    });
    const { records, contents, rows, asked_in_all: asked } = state;
    return { answer: state, result: { ...rows, records: records.copied, contents: contents.copied, asked } };
  });
}

async function audited(from: string, { audit, clock }: OperatorDeps): Promise<AuditRecord[]> {
  const query = { from, to: clock().toISOString(), limit: 500, fits: () => true };
  const all: AuditRecord[] = [];
  for (let after: AuditPlace | undefined, more = true; more; more = after !== undefined) {
    const page = await audit.list({ ...query, ...(after && { after }) });
    all.push(...page.records);
    after = page.next;
  }
  return all;
}

async function operationsOf({ operations }: OperatorDeps): Promise<Operation[]> {
  const all: Operation[] = [];
  for (let page: readonly Operation[] = await operations.list({ limit: 100 }); page.length > 0; ) {
    all.push(...page);
    page = await operations.list({ limit: 100, before: page.at(-1)?.operation_id ?? '' });
  }
  return all;
}

/** The rows of requests, as the API put them: their content is opened, as their recipients are found by a hash. */
function acceptedRows({ dynamodb, deployment, shards }: OperatorDeps): RestorePorts['acceptedRow'] {
  const sealer = deployment.sealer(dynamodb);
  const contents = createContentStore(dynamodb, deployment.tables.notification_content, sealer);
  return async (item: ContentItem) => {
    const { accepted_request, accepted_at, traceparent } = item;
    if (typeof accepted_request !== 'string' || typeof accepted_at !== 'string') return undefined;
    const owner = { log_id: String(item['log_id']), tenant_id: String(item['tenant_id']) };
    try {
      const content = await contents.read(owner);
      const trace = typeof traceparent === 'string' ? traceparent : undefined;
      const request = requestOf(accepted_request, defined({ ...content, traceparent: trace }));
      const identity = { ...owner, accepted_at: new Date(accepted_at) };
      const { row, failed } = newNotification(identity, request, deployment.retry_policy, await shards());
      const hash = recipientHash(await deployment.recipientHashKey(), owner.tenant_id, content.recipient);
      return { row: { ...row, recipient_hash: hash }, ...(failed && { record: failed.record }) };
    } catch (error) {
      if (error instanceof ContentUnreadableError) return undefined;
      throw error;
    }
  };
}
