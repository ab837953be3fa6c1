import { type DynamoDBClient, paginateScan, type ScanCommandInput } from '@aws-sdk/client-dynamodb';
import { LACKS } from '../../adapters/deployment/stage-parts.ts';
import { createBreakerStore } from '../../adapters/dynamodb/breaker/breaker-store.ts';
import { readAddress } from '../../adapters/dynamodb/newsletter/address-pages.ts';
import { hashIn } from '../../adapters/dynamodb/newsletter/member-items.ts';
import { toForeignRow } from '../../adapters/dynamodb/table/item.ts';
import { createOutcomeBus, outcomeHash } from '../../adapters/eventbridge/outcome-bus.ts';
import type { ForeignRow } from '../../core/model/notification.ts';
import { ExplainedError, Problem } from '../../core/model/problem.ts';
import { type Decision, decisionOf } from '../../core/operator/audit.ts';
import { notificationOutcomes } from '../../core/outcomes/notification-outcomes.ts';
import type { Outcome } from '../../core/outcomes/outcome.ts';
import { addressChanges, emailOutcomes, memberOutcomes, providerOutcomes } from '../../core/outcomes/state-outcomes.ts';
import { type OutcomeBus, tellOutcomes } from '../../core/outcomes/tell-outcomes.ts';
import type { OperatorDeps } from '../deps.ts';

/** From, inclusive, to, exclusive. Outcomes are chosen by their `at`. */
interface Resend {
  readonly from: string;
  readonly to: string;
  /** Read units per second, on average. */
  readonly rate: number;
  readonly dry_run: boolean;
}

export interface Resent {
  readonly scanned: number;
  readonly told: number;
  readonly by_kind: Readonly<Record<string, number>>;
}

interface ResendDeps extends Pick<OperatorDeps, 'deployment' | 'dynamodb' | 'clock'> {
  readonly pause: (ms: number) => Promise<void>;
  readonly onProgress: (done: Resent) => void;
}

/** Sends the outcomes of a period again, of notifications, providers, newsletters and members, as the tables tell them. */
export function resendOutcomes(asked: Resend, deps: ResendDeps): Decision<Resent> {
  const { from, to, dry_run } = asked;
  const { clients, outcomes_bus } = deps.deployment;
  if (outcomes_bus === undefined) throw new Problem('not-found', LACKS.outcomes);
  return decisionOf(
    dry_run ? undefined : { what: 'outcomes.resend', on: [`${from} to ${to}`], details: { from, to } },
    async () => {
      const { EventBridgeClient } = await import('@aws-sdk/client-eventbridge');
      const client = new EventBridgeClient({ ...clients.eventbridge, maxAttempts: 1 });
      try {
        const answer = await resend(asked, deps, createOutcomeBus(client, outcomes_bus));
        return { answer, result: { told: answer.told } };
      } finally {
        client.destroy();
      }
    },
  );
}

/** Scans the tables: no index knows when something ended. They tell a provider's last change, a notification's end. */
async function resend({ from, to, rate, dry_run }: Resend, deps: ResendDeps, bus: OutcomeBus): Promise<Resent> {
  const { pause, onProgress } = deps;
  const by_kind: Record<string, number> = {};
  let scanned = 0;
  let told = 0;
  for await (const { items, read_units, outcomesOf } of pagesOf(deps)) {
    scanned += items.length;
    const all = (await Promise.all(items.map(outcomesOf))).flat();
    const outcomes = all.filter(({ detail: { at } }) => at >= from && at < to);
    for (const { kind } of outcomes) by_kind[kind] = (by_kind[kind] ?? 0) + 1;
    const changes = outcomes.map((outcome) => {
      const { event_id } = outcome.detail;
      return { sequence: event_id, subject: event_id, outcomes: [outcome] };
    });
    const { failed, error } = dry_run ? {} : await tellOutcomes(changes, { bus, pause });
    if (failed !== undefined) throw new BusRefusedError(told, error);
    told += outcomes.length;
    onProgress({ scanned, told, by_kind });
    await pause((1_000 * read_units) / rate);
  }
  return { scanned, told, by_kind };
}

class BusRefusedError extends ExplainedError {
  override readonly name = 'BusRefusedError';
  constructor(told: number, cause: unknown) {
    const why = cause instanceof Error ? `: ${cause.message}` : '';
    super(
      `The bus refused outcomes after ${told} were told${why}. Start the command again: receivers know repetitions.`,
      { cause },
    );
  }
}

interface Page {
  readonly items: readonly ForeignRow[];
  readonly read_units: number;
  readonly outcomesOf: (item: ForeignRow) => Promise<readonly Outcome[]>;
}

async function* pagesOf({ deployment, dynamodb, clock }: ResendDeps): AsyncGenerator<Page> {
  const { tables } = deployment;
  const context = { hash: outcomeHash, seen_at: clock().toISOString() };
  const breakers = await createBreakerStore(dynamodb, tables.pipeline_state, clock).list();
  yield {
    items: breakers.map((breaker) => ({ ...breaker })),
    read_units: 1,
    // The present state as a change: the image before it is made up as the opposite.
    outcomesOf: async (after) =>
      providerOutcomes({ before: { state: after['state'] === 'open' ? '' : 'open' }, after }, context),
  };
  const rows = scan(dynamodb, {
    TableName: tables.notification_log,
    FilterExpression: 'attribute_exists(bounced_at) OR send_status = :failed OR send_status = :success',
    ExpressionAttributeValues: { ':failed': { S: 'FAILED' }, ':success': { S: 'SUCCESS' } },
  });
  for await (const page of rows) yield { ...page, outcomesOf: async (row) => notificationOutcomes(row, context) };
  // A stage without newsletters does not name their tables.
  if (!Object.keys(tables).includes('members')) return;
  const { emails, members } = tables;
  for await (const page of scan(dynamodb, { TableName: emails })) {
    yield { ...page, outcomesOf: async (after) => (after['part'] === 'row' ? emailOutcomes({ after }, context) : []) };
  }
  const facts = scan(dynamodb, {
    TableName: members,
    FilterExpression: 'attribute_not_exists(member_uuid) AND attribute_not_exists(gone)',
  });
  for await (const page of facts) {
    yield {
      ...page,
      outcomesOf: async (after) => {
        const [tenant_id, item] = [String(after['tenant_id']), String(after['item'])];
        const changes = addressChanges({ after }, context);
        const found = changes.length > 0 ? await readAddress(dynamodb, members, tenant_id, hashIn(item)) : undefined;
        const member_ids = (found?.members ?? []).map(({ member_id }) => member_id);
        return changes.flatMap((change) => memberOutcomes(change, { tenant_id, member_ids }, context));
      },
    };
  }
}

async function* scan(client: DynamoDBClient, input: ScanCommandInput) {
  const whole = { ...input, ReturnConsumedCapacity: 'TOTAL' as const };
  for await (const { Items = [], ConsumedCapacity } of paginateScan({ client }, whole)) {
    yield { items: Items.map(toForeignRow), read_units: ConsumedCapacity?.CapacityUnits ?? 0 };
  }
}
