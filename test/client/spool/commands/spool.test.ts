import { readdirSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runProgram } from '../../../../src/cli/program.ts';
import { lockSpool } from '../../../../src/client/spool/spool-lock.ts';
import { recordingTerminal, type TerminalScript } from '../../../support/cli/recording-terminal.ts';
import { problem } from '../../../support/client/api-stand-in.ts';
import { notification, startWorld, type World } from '../../../support/client/world.ts';

/** A port on which nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

let world: World;
beforeEach(async () => {
  world = await startWorld();
  world.now = new Date();
});
afterEach(() => world.end());

const directory = () => join(world.directory, 'data', 'spool');

async function ops(
  args: readonly string[],
  { env = {}, ...script }: TerminalScript & { env?: Record<string, string> } = {},
) {
  const { terminal, written } = recordingTerminal(script);
  const code = await runProgram(['spool', ...args, '--dir', directory()], {
    terminal,
    findDeployment: async () => ({ api: world.api.url }) as never,
    clock: () => world.now,
    env: { NOTIFICATION_API_URL: world.api.url, NOTIFICATION_API_KEY: world.api.apiKey, ...env },
    pause: async () => {},
    newId: () => 'id',

    stopped: async () => {},
    interruption: () => ({ signal: new AbortController().signal, exitCode: () => undefined }),
    stateDirectory: world.directory,
  });
  const { out, err } = written;
  expect(out + err).not.toMatch(/someone|example\.com|Text \d|nrk_test/);
  return { code, out, err, json: () => JSON.parse(out) };
}

async function spooled(count = 2, more = {}): Promise<string> {
  await world.api.stop();
  await world.client().sendBatch(Array.from({ length: count }, (_, n) => notification(n, more)));
  await world.api.start();
  return String(world.files('spool').at(-1));
}

async function givenUp(): Promise<string> {
  const file = await spooled();
  world.now = new Date(world.now.getTime() + 169 * 3_600_000);
  await world.client().flush();
  world.now = new Date();
  return file;
}

async function againGivenUp(file: string): Promise<unknown> {
  await world.spool().resend(file);
  await world.api.stop();
  return world.client({ maxSpoolRetries: 1 }).flush();
}

describe('spool flush', () => {
  it('hands over the notifications in the spool, and says so', async () => {
    await spooled(3);
    expect(await ops(['flush'])).toMatchObject({ code: 0, out: '3 handed over, 0 still in the spool, 0 refused.\n' });
    expect(world.api.accepted).toHaveLength(3);
  });

  it('with --json prints one object', async () => {
    const file = await spooled(2);
    world.api.insteadOfItem = ({ notification_id }) =>
      notification_id === 'N1' ? problem('invalid-request', 400) : undefined;
    const ended = await ops(['flush', '--json']);
    expect(ended.code).toBe(1);
    expect(ended.json()).toEqual({
      accepted: 1,
      refused: 1,
      left: 0,
      skipped: [],
      interrupted: false,
      left_because: {},
      given_up: [
        {
          file,
          because: 'refused',
          notifications: 1,
          reason: 'invalid-request',
          first_attempt: world.now.toISOString(),
        },
      ],
    });
    expect(ended.err).toContain(`given up ${file}: refused, 1 notifications (invalid-request)`);
  });

  it('has nothing to do if the spool is empty', async () => {
    expect(await ops(['flush'])).toMatchObject({ code: 0, out: 'The spool is empty: nothing to do.\n' });
  });

  it('does not fail if the API does not answer', async () => {
    await spooled();
    expect(await ops(['flush', '--url', 'http://127.0.0.1:9'])).toMatchObject({
      code: 0,
      out: '0 handed over, 2 still in the spool (2 no answer (bad port) from 127.0.0.1:9), 0 refused.\n',
    });
  }, 15_000);

  it('names code and host of an API that refuses the connection', async () => {
    await spooled();
    const port = await closedPort();
    const { out } = await ops(['flush', '--url', `http://127.0.0.1:${port}`]);
    expect(out).toContain(`(2 no answer (ECONNREFUSED) from 127.0.0.1:${port})`);
  }, 15_000);

  it('takes MAX_SPOOL_RETRIES and SPOOL_RETENTION_HOURS from the environment, and reports once', async () => {
    const file = await spooled();
    world.api.instead = () => problem('unauthenticated', 401);
    const env = { MAX_SPOOL_RETRIES: '1' };
    expect(await ops(['flush'], { env })).toMatchObject({
      code: 1,
      err: `given up ${file}: too-many-retries, 2 notifications (unauthenticated)\n`,
    });
    expect(await ops(['flush'], { env })).toMatchObject({ code: 0, err: '' });
  });

  it('uses the API of the running local runtime with --local', async () => {
    await spooled();
    expect((await ops(['flush', '--local'], { env: { NOTIFICATION_API_URL: '' } })).code).toBe(0);
    expect(world.api.accepted).toHaveLength(2);
  });

  it.each([
    [{ NOTIFICATION_API_URL: '' }, /url \(NOTIFICATION_API_URL\) must be an http or https URL/],
    [{ NOTIFICATION_API_KEY: '' }, /apiKey \(NOTIFICATION_API_KEY\) must be a key/],
    [{ MAX_SPOOL_RETRIES: 'many' }, /maxSpoolRetries \(MAX_SPOOL_RETRIES\) must be a whole number, 1 to 10,000/],
    [{ NOTIFICATION_SPOOL_KEY: 'short' }, /A spool key must be 32 bytes/],
  ])('with %o says what is wrong', async (env, message) => {
    expect(await ops(['flush'], { env })).toMatchObject({ code: 2, err: expect.stringMatching(message) });
  });

  it('names the process that holds the lock', async () => {
    const release = await lockSpool(directory(), { fs });
    const ended = await ops(['flush']);
    await release();
    expect(ended).toMatchObject({ code: 1, err: expect.stringContaining(`is locked by pid ${process.pid} on`) });
  });
});

describe('spool list and show', () => {
  it('list both folders, complete and faulty files', async () => {
    const failed = await givenUp();
    const waiting = await spooled(3);
    const { files } = (await ops(['list', '--json'])).json();
    expect(files).toMatchObject([
      {
        folder: 'spool',
        file: waiting,
        state: 'waiting',
        notifications: 3,
        retry_count: 0,
        last_error: 'no answer (ECONNREFUSED)',
        encrypted: false,
      },
      { folder: 'failed', file: failed, state: 'too-old', notifications: 2 },
    ]);
    truncateSync(join(directory(), waiting), 10);
    expect((await ops(['list', '--folder', 'spool', '--json'])).json().files).toEqual([
      { folder: 'spool', file: waiting, state: 'faulty', fault: 'it does not begin as a spool file' },
    ]);
    expect((await ops(['list'])).out).toMatch(/folder +file +state +notifications +first attempt +retries +last error/);
  });

  it('show what is in a file, except recipient and content', async () => {
    const file = await spooled(1, { priority: 'urgent' });
    expect((await ops(['show', file, '--json'])).json()).toMatchObject({
      file,
      items: [{ kind: 'notification', channel: 'email', priority: 'urgent', notification_id: 'N0', bytes: 6 }],
    });
    expect((await ops(['show', join('anywhere', file)])).out).toContain('urgent');
  });

  it('say that there is no such file in the two folders', async () => {
    expect(await ops(['show', 'nothing.spool'])).toMatchObject({
      code: 1,
      err: expect.stringContaining(`There is no file nothing.spool in ${directory()} or`),
    });
    expect((await ops(['list'])).err).toMatch(/nothing to do/);
    expect((await ops(['list', '--failed-dir', '/typo'])).err).toContain(' or /typo (not there): nothing to do');
  });
});

it.each(['--failed-dir', 'NOTIFICATION_FAILED_DIRECTORY'])(
  'a failed directory of its own is set by %s',
  async (name) => {
    const elsewhere = join(world.directory, 'elsewhere');
    const args = name === '--failed-dir' ? [name, elsewhere] : [];
    const env: Record<string, string> = args.length > 0 ? {} : { [name]: elsewhere };
    const file = await spooled();
    world.now = new Date(world.now.getTime() + 169 * 3_600_000);
    await world.client({ failedDirectory: elsewhere }).flush();
    expect((await ops(['list', '--json', ...args], { env })).json().files).toMatchObject([{ folder: 'failed', file }]);
    expect(await ops(['resend', file, ...args], { env })).toMatchObject({ code: 0 });
    expect(world.api.accepted).toHaveLength(2);
    expect(readdirSync(elsewhere)).toEqual([]);
  },
);

describe('spool resend', () => {
  it('sends given-up notifications again', async () => {
    const file = await givenUp();
    expect(await ops(['resend', file])).toMatchObject({
      code: 0,
      out: '2 handed over, 0 still in the spool, 0 refused.\n',
    });
    expect([world.files('failed'), world.files('spool')]).toEqual([[], []]);
  });

  it('moves nothing while a flush works', async () => {
    const file = await givenUp();
    const release = await lockSpool(directory(), { fs });
    const ended = await ops(['resend', '--all']);
    await release();
    expect(ended).toMatchObject({ code: 1, err: expect.stringContaining(`is locked by pid ${process.pid} on`) });
    expect([world.files('spool'), world.files('failed')]).toEqual([[], [file]]);
  });

  it('sends once a file that an older version left in both folders, and keeps no copy', async () => {
    const file = await givenUp();
    await world.spool().resend(file);
    writeFileSync(join(world.directory, 'data', 'failed', file), readFileSync(join(directory(), file)));
    expect(await ops(['resend', file])).toMatchObject({ code: 0 });
    expect([world.files('spool'), world.files('failed')]).toEqual([[], []]);
    expect(world.api.accepted).toHaveLength(2);
  });

  it('skips corrupt files with --all, and says so', async () => {
    await givenUp();
    const file = await spooled();
    truncateSync(join(directory(), file), 10);
    await world.client().flush();
    expect(await ops(['resend', '--all'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/\.corrupt was left as it is: it was set aside/),
    });
    expect(world.api.accepted).toHaveLength(2);
  });

  it.each([[[]], [['x.spool', '--all']]])('with %o asks for the files', async (args) => {
    expect(await ops(['resend', ...args])).toMatchObject({ code: 2, err: expect.stringContaining('Choose the files') });
  });
});

describe('spool clean', () => {
  it('asks first, and deletes nothing without a yes', async () => {
    const file = await givenUp();
    const question = 'Delete 1 files with 2 notifications, which are then never sent? [y/N] ';
    expect((await ops(['clean', '--all'], { answer: 'n' })).err).toContain(question);
    expect(await ops(['clean', '--all'])).toMatchObject({ code: 2 });
    expect(world.files('failed')).toEqual([file]);
    expect(await ops(['clean', '--all'], { answer: 'y' })).toMatchObject({ code: 0, out: '1 files deleted.\n' });
    expect(world.files('failed')).toEqual([]);
  });

  it('leaves the spool alone unless it is named', async () => {
    const file = await spooled();
    expect(await ops(['clean', '--all', '--yes'])).toMatchObject({ out: 'Nothing to delete.\n' });
    expect(world.files('spool')).toEqual([file]);
    expect((await ops(['clean', file, '--yes', '--json'])).json()).toEqual({ deleted: [file] });
    expect(world.files('spool')).toEqual([]);
  });

  it.each([
    ['put back into the spool', (file: string): Promise<unknown> => world.spool().resend(file), 'spool'],
    ['sent again and given up again', againGivenUp, 'failed'],
  ] as const)('leaves alone what is %s while it asks', async (_, change, folder) => {
    const file = await givenUp();
    world.now = new Date(world.now.getTime() + 1_000);
    const ended = await ops(['clean', '--all', '--json'], { answer: 'y', meanwhile: () => change(file) });
    expect(ended.json()).toEqual({ deleted: [] });
    expect(ended.err).toContain('1 files were moved or sent again in the meantime, and are left alone.');
    expect(world.files(folder)).toEqual([file]);
  });

  it('leaves a file alone that a flush gives up while it asks', async () => {
    const file = await spooled();
    const meanwhile = () => world.client({ spoolRetentionHours: 1e-9 }).flush();
    world.now = new Date(world.now.getTime() + 1_000);
    expect((await ops(['clean', file, '--json'], { answer: 'y', meanwhile })).json()).toEqual({ deleted: [] });
    expect(world.files('failed')).toEqual([file]);
  });

  it('leaves files alone that are not of the spool', async () => {
    const file = await spooled();
    writeFileSync(join(directory(), 'app.db'), '');
    utimesSync(join(directory(), 'app.db'), 1, 1);
    expect((await ops(['clean', '--folder', 'spool', '--all', '--yes', '--json'])).json()).toEqual({ deleted: [file] });
    expect((await ops(['clean', '--folder', 'spool', '--older-than', '30d', '--yes'])).out).toBe(
      'Nothing to delete.\n',
    );
    expect(await ops(['clean', 'app.db', '--yes'])).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        'app.db is not deleted: its name does not end in .spool, so it is not a file of the spool.',
      ),
    });
    expect(world.files('spool')).toEqual(['app.db']);
  });

  it('deletes files by their age, faulty ones by the time of the file', async () => {
    const file = await spooled();
    truncateSync(join(directory(), file), 10);
    await world.client().flush();
    const [corrupt] = world.files('failed');
    await givenUp();
    expect((await ops(['clean', '--older-than', '1h', '--yes', '--json'])).json()).toEqual({ deleted: [] });
    utimesSync(join(world.directory, 'data', 'failed', String(corrupt)), 1, 1);
    expect((await ops(['clean', '--older-than', '30d', '--yes', '--json'])).json()).toEqual({ deleted: [corrupt] });
  });
});

it('the files contain what the operator is not shown', async () => {
  const file = await spooled(1);
  expect(readFileSync(join(directory(), file), 'utf8')).toContain('someone-0@example.com');
});
