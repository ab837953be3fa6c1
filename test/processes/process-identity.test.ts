import { type ChildProcess, spawn } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import {
  identityOf,
  isRunning,
  ownIdentity,
  parseIdentity,
  pidExists,
  statusByPs,
  userOfMachine,
} from '../../src/processes/process-identity.ts';

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

async function startChild(): Promise<{ readonly child: ChildProcess; readonly pid: number }> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  children.push(child);
  await new Promise((resolve) => child.once('spawn', resolve));
  return { child, pid: child.pid ?? 0 };
}

describe('whether a process runs', () => {
  it('is true for this process and for a child', async () => {
    const { pid } = await startChild();
    expect(isRunning(ownIdentity())).toBe(true);
    expect(isRunning(identityOf(pid))).toBe(true);
  });

  it('is false after the process was killed', async () => {
    const { child, pid } = await startChild();
    const identity = identityOf(pid);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    expect(isRunning(identity)).toBe(false);
  });

  it('is false when a later process has the same pid', () => {
    expect(isRunning({ ...ownIdentity(), started: '1' })).toBe(false);
  });

  it('is unknown for another host or container', () => {
    expect(isRunning({ ...ownIdentity(), scope: 'elsewhere boot pid:[1]' })).toBeUndefined();
  });

  it('without start times, only the absence of the pid is certain', () => {
    const self = { ...ownIdentity(), started: '' };
    expect(isRunning(self, self)).toBeUndefined();
    expect(isRunning({ ...self, pid: 4_194_303 }, self)).toBe(false);
  });
});

describe('a stored identity', () => {
  it('is read back', () => {
    const identity = { ...ownIdentity(), token: 't' };
    expect(parseIdentity(JSON.stringify(identity))).toEqual(identity);
  });

  it.each(['', '{', 'null', '123', '{"pid":1,"command":"node main.ts"}', '{"pid":1,"scope":"s"}'])(
    'is not found in %j',
    (text) => expect(parseIdentity(text)).toBeUndefined(),
  );
});

it('a pid of another user exists', () => {
  expect(pidExists(1)).toBe(true);
  expect(pidExists(4_194_303)).toBe(false);
});

it('`ps` reports state and start time, whatever the language and the time zone', () => {
  const here = statusByPs(process.pid);
  expect(here).toEqual({ state: expect.stringMatching(/^[A-Z]$/), started: expect.stringMatching(/^\d{9,11}$/) });
  const secondsAgo = Date.now() / 1000 - Number(here?.started);
  expect(secondsAgo).toBeGreaterThan(-5);
  expect(secondsAgo).toBeLessThan(3_600);
  expect(statusByPs(4_194_303)).toBeUndefined();
});

describe('the user of this process', () => {
  const nobody = () => {
    throw new Error('ENOENT: no such file or directory, uv_os_get_passwd');
  };

  it.each([
    [() => 'mori', { USER: 'other' }, 'mori'],
    [nobody, { USER: 'mori' }, 'mori'],
    [nobody, {}, `uid ${process.getuid?.()}`],
  ])('has a name, though no passwd entry may name its id', (named, env, expected) => {
    expect(userOfMachine(named, env)).toBe(expected);
  });
});

it('cannot tell whether a process runs whose start time could not be read, unless there is no such process', () => {
  const unread = { ...ownIdentity(), started: '' };
  expect(isRunning(unread)).toBeUndefined();
  expect(isRunning({ ...unread, pid: 2 ** 30 })).toBe(false);
});
