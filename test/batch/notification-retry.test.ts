import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type IdleRuntime, startIdleRuntime } from '../support/batch/retry-job-process.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { replying } from '../support/loopback.ts';

let local: IdleRuntime;
beforeAll(async () => {
  local = await startIdleRuntime();
});
afterAll(() => local.stop());

describe('rows that are not indexed yet', () => {
  it.each([
    ['it says so', replying(200, '{"caught_up":false}')],
    ['it fails', replying(500, '{"message":"no"}')],
    ['it answers nonsense', replying(200, 'hello')],
  ])('are warned of on stderr when the runtime is asked and %s', async (_, answer) => {
    local.api.answer = answer;
    const ended = await local.run('--json').ended;

    expect(ended.code).toBe(0);
    expect(ended.stderr).toBe('Warning: rows put in the last moments are not indexed yet; run again for them.\n');
    expect(JSON.parse(ended.stdout)).toMatchObject({ due: 0 });
  });

  it('are not mentioned when there are none', async () => {
    local.api.answer = replying(200, '{"caught_up":true}');
    expect(await local.run('--json').ended).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('the job, when it is interrupted', () => {
  it('before its sweep dispatches nothing, and says so', async () => {
    await local.put('a', 'b', 'c');
    const asked = local.api.received.length;
    local.api.answer = () => {};
    const job = local.run('--wait', '--json');
    await eventually(() => local.api.received[asked]);
    job.process.kill('SIGINT');

    const ended = await job.ended;
    expect(ended.code).toBe(130);
    expect(JSON.parse(ended.stdout)).toMatchObject({ dispatched: 0, outcomes: {} });
    expect(await local.queued()).toBe(0);
    local.api.answer = replying(200, '{"caught_up":true}');
  });

  it.each<[NodeJS.Signals, number, string, RegExp]>([
    ['SIGINT', 130, '--json', /"dispatched":3,.*"outcomes":\{"UNSETTLED":3\}/],
    ['SIGTERM', 143, '--force-retry', /dispatched +3 (.|\n)*outcome +UNSETTLED +3/],
  ])('by %s while it waits exits with %d, and %s shows what is unsettled', async (signal, code, option, shown) => {
    const before = await local.queued();
    const job = local.run('--wait', option);
    await eventually(async () => ((await local.queued()) === before + 3 ? true : undefined));
    job.process.kill(signal);
    job.process.kill(signal);

    expect(await job.ended).toEqual({
      code,
      stdout: expect.stringMatching(shown),
      stderr: expect.stringMatching(/Interrupted: .*\nWhat was dispatched goes on/),
    });
  });

  it('a second time ends at once', async () => {
    local.silenceStorage();
    const job = local.run('--wait', '--json');
    await eventually(() => local.api.received.find(({ method }) => method === 'POST'));
    job.process.kill('SIGINT');
    await eventually(() => (job.stderr().includes('Ctrl-C again') ? true : undefined));
    // The signal is repeated because a second one right after the first counts as its copy.
    const again = setInterval(() => job.process.kill('SIGINT'), 50);

    expect(await job.ended.finally(() => clearInterval(again))).toMatchObject({ code: 130, stdout: '' });
  });
});

it('the job exits with 1 when SQS refuses messages: their notifications stay due', async () => {
  await local.put('refused');
  local.refuseMessages();
  const ended = await local.run('--json').ended;
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/SQS refused [1-9]\d* messages: .*OverLimit/) });
  expect(JSON.parse(ended.stdout)).toMatchObject({ dispatched: 0, due: expect.any(Number) });
});
