import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import type { DynamoDBRecord } from 'aws-lambda';
import { beforeAll, describe, expect, it } from 'vitest';
import type { OutcomesDeps } from '../../functions/outcomes/handler.ts';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import type { Outcome } from '../../src/core/outcomes/outcome.ts';
import { emittedBy, valuesOf } from '../support/emf.ts';
import { hash } from '../support/outcomes.ts';
import { at, iso, T0 } from '../support/rows.ts';

type Images = { readonly before?: object; readonly after?: object };

let sequence = 0;
function record(keys: object, { before, after }: Images): DynamoDBRecord {
  const item = (image: object) => JSON.parse(JSON.stringify(toItem(image)));
  return {
    eventName: after === undefined ? 'REMOVE' : 'MODIFY',
    dynamodb: {
      ApproximateCreationDateTime: T0.getTime() / 1000,
      SequenceNumber: String(++sequence),
      Keys: item(keys),
      ...(before && { OldImage: item({ ...keys, ...before }) }),
      ...(after && { NewImage: item({ ...keys, ...after }) }),
    },
  };
}
const delivered = (log_id: string) => record({ log_id }, { after: { send_status: 'SUCCESS', last_attempt: 0 } });
const facts = { shard: 't#a', item: 'abc#facts' };

describe('the function of outcomes', () => {
  let createHandler: typeof import('../../functions/outcomes/handler.ts')['createHandler'];
  const quiet = { logger: new Logger({ logLevel: 'SILENT' }), metrics: new Metrics({ namespace: 'test' }) };

  beforeAll(async () => {
    // The module binds itself to its environment on import, as Lambda loads it.
    Object.assign(process.env, { OUTCOMES_BUS: 'bus', AWS_REGION: 'us-east-1' });
    ({ createHandler } = await import('../../functions/outcomes/handler.ts'));
  });

  function setUp(changes: Partial<OutcomesDeps> = {}) {
    const taken: Outcome[] = [];
    const put = async (outcomes: readonly Outcome[]) => {
      taken.push(...outcomes);
      return outcomes.map(() => true);
    };
    const deps = {
      bus: { put },
      hash,
      pause: async () => {},
      membersOf: async () => ['m1', 'm2'],
      clock: () => at(4_000),
      ...changes,
    };
    return { taken, deps, handle: (...Records: DynamoDBRecord[]) => createHandler(deps, quiet)({ Records }) };
  }

  it('tells of the rows, breakers, emails and addresses that the streams show, and of nothing else in them', async () => {
    const { taken, handle } = setUp();
    const answer = await handle(
      delivered('n1'),
      record({ log_id: 'n1' }, {}),
      record({ kind: 'breaker', id: 'slack#int-1' }, { after: { state: 'open', since: iso() } }),
      record({ kind: 'breaker', id: 'slack#int-1' }, { before: { state: 'open' } }),
      record({ email_id: 'e1', part: 'row' }, { before: { status: 'submitting' }, after: { status: 'submitted' } }),
      record(facts, { after: { tenant_id: 't', 'unsubscribed#weekly': iso() } }),
    );
    expect(answer).toEqual({ batchItemFailures: [] });
    expect(
      taken.map(({ kind, detail: { log_id, provider, email_id, member_id } }) => [
        kind,
        log_id ?? provider ?? email_id ?? member_id,
      ]),
    ).toEqual([
      ['Notification Delivered', 'n1'],
      ['Provider Down', 'slack#int-1'],
      ['Provider Up', 'slack#int-1'],
      ['Email Ended', 'e1'],
      ['Member Unsubscribed', 'm1'],
      ['Member Unsubscribed', 'm2'],
    ]);
  });

  it('counts what it told, and how long the oldest of it had waited; nothing of what it left', async () => {
    const { deps } = setUp();
    const put = async (outcomes: readonly Outcome[]) => outcomes.map(() => false);
    const emitted = await emittedBy('outcomes', {}, (observability) =>
      createHandler(deps, observability)({ Records: [record({ log_id: 'n0' }, {}), delivered('n1'), delivered('n2')] }),
    );
    expect([valuesOf(emitted, 'OutcomesTold'), valuesOf(emitted, 'OutcomesLag')]).toEqual([[2], [4]]);
    const refused = await emittedBy('outcomes', {}, (observability) =>
      createHandler({ ...deps, bus: { put } }, observability)({ Records: [delivered('n3')] }),
    );
    expect(refused).toEqual([]);
  });

  it('has the stream read again from the first change that the bus did not take', async () => {
    const refuses = async (outcomes: readonly Outcome[]) => outcomes.map(({ detail }) => detail.log_id !== 'n2');
    const records = [delivered('n1'), delivered('n2'), delivered('n3')];
    const { handle } = setUp({ bus: { put: refuses } });
    expect(await handle(...records)).toEqual({
      batchItemFailures: [{ itemIdentifier: records[1]?.dynamodb?.SequenceNumber }],
    });
  });

  it('tells what comes before an address whose members cannot be read, and has that one read again', async () => {
    const unsubscribed = record(facts, { after: { tenant_id: 't', 'unsubscribed#weekly': iso() } });
    const membersOf = () => Promise.reject(new Error('no answer'));
    const { taken, handle } = setUp({ membersOf });
    expect(await handle(delivered('n1'), unsubscribed, delivered('n2'))).toEqual({
      batchItemFailures: [{ itemIdentifier: unsubscribed.dynamodb?.SequenceNumber }],
    });
    expect(taken.map(({ detail }) => detail.log_id)).toEqual(['n1']);
  });
});
