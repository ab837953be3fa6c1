import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Operations, startOperations } from '../../../support/cli/operations.ts';
import { type Loopback, startLoopback } from '../../../support/loopback.ts';

let operations: Operations;
let lambda: Loopback;
beforeAll(async () => {
  [operations, lambda] = await Promise.all([startOperations(), startLoopback()]);
});
afterAll(() => Promise.all([operations.stop(), lambda.close()]));

const counts = { scanned: 250, missed: 2, taken_in: 1, set_aside: 1, failed: 0 };
const PARTS = [{ ...counts, next: { log_id: { S: 'x' } } }, counts];

/** Runs the command on a reconciler that gives these answers, one after the other. */
async function run(args: readonly string[], answers: readonly object[], headers: Record<string, string> = {}) {
  lambda.received.length = 0;
  lambda.answer = (response) => {
    const answer = answers[lambda.received.length - 1] ?? {};
    const failed = 'errorMessage' in answer ? headers : {};
    response.writeHead(200, { 'content-type': 'application/json', ...failed }).end(JSON.stringify(answer));
  };
  const { deployment } = operations;
  const { region, credentials } = deployment.clients.sqs;
  const client = { endpoint: lambda.url, ...(region && { region }), ...(credentials && { credentials }) };
  const clients = { ...deployment.clients, lambda: client };
  const ended = await operations.run(['reconcile', ...args], {
    findDeployment: async () => ({ ...deployment, clients, reconciler: 'the-reconciler' }),
  });
  return { ...ended, asked: lambda.received.map(({ path, body }) => ({ path, body: JSON.parse(body) })) };
}

it('has the reconciler scan part by part, and adds up', async () => {
  const { code, out, asked } = await run(['--dry-run', '--json'], PARTS);
  expect({ code, printed: JSON.parse(out) }).toEqual({
    code: 0,
    printed: { dry_run: true, scanned: 500, missed: 4, taken_in: 2, set_aside: 2, failed: 0 },
  });
  expect(asked.map(({ path }) => path)).toEqual(Array(2).fill('/2015-03-31/functions/the-reconciler/invocations'));
  expect(asked.map(({ body }) => body)).toEqual([
    { dry_run: true, seconds: 45 },
    { dry_run: true, seconds: 45, after: { log_id: { S: 'x' } } },
  ]);
});

it('prints what it did, and fails when a row could not be taken in', async () => {
  expect(await run([], [counts])).toMatchObject({
    code: 0,
    out: '250 rows scanned, 2 missed: 1 taken in, 1 set aside, 0 failed\n',
  });
  expect(await run([], [{ ...counts, failed: 1 }])).toMatchObject({ code: 1 });
});

it('says how to go on after a part that failed, and goes on there', async () => {
  const fault = { errorMessage: 'throttled', errorType: 'Error' };
  const { code, err } = await run([], [PARTS[0] ?? {}, fault], { 'x-amz-function-error': 'Unhandled' });
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('throttled') });
  const [, cursor = ''] = /--after (\S+)/.exec(err) ?? [];
  const { asked } = await run(['--after', cursor], [counts]);
  expect(asked[0]?.body).toEqual({ dry_run: false, seconds: 45, after: { log_id: { S: 'x' } } });
  expect(await run(['--after', 'nonsense'], [])).toMatchObject({ code: 2, asked: [] });
});

it('says what to do about a stack that has no reconciler', async () => {
  expect(await operations.run(['reconcile'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('deploy it anew'),
  });
});
