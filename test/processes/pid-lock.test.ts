import * as fs from 'node:fs';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LockFiles, takePidLock } from '../../src/processes/pid-lock.ts';
import { identityOf, ownIdentity } from '../../src/processes/process-identity.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'pid-lock-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const path = () => join(directory, 'sub', 'a.pid');
const take = (file = path()) => takePidLock(file, (pid) => new Error(`held by ${pid}`));

describe('a pid lock', () => {
  it('names its holder until it is released', () => {
    const release = take();
    expect(JSON.parse(readFileSync(path(), 'utf8'))).toEqual(ownIdentity());
    expect(() => take()).toThrow(`held by ${process.pid}`);
    release();
    expect(existsSync(path())).toBe(false);
    take()();
  });

  it('of another running process is refused', () => {
    const file = join(directory, 'a.pid');
    const text = JSON.stringify(identityOf(process.ppid));
    writeFileSync(file, text);
    expect(() => take(file)).toThrow(`held by ${process.ppid}`);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it.each([
    ['a process whose pid another process has now', JSON.stringify({ ...identityOf(process.ppid), started: '1' })],
    ['a process that no longer runs', JSON.stringify({ ...identityOf(process.ppid), pid: 4_194_303 })],
    ['a process on another host', JSON.stringify({ ...identityOf(process.ppid), scope: 'elsewhere' })],
    ['nobody who has written when it started', JSON.stringify({ pid: process.ppid, command: 'node main.ts' })],
    ['nobody who has written more than a pid', String(process.ppid)],
    ['a process that died while it wrote the file', '{"pid":'],
    ['nobody', ''],
  ])('of %s is taken over', (_, text) => {
    const file = join(directory, 'a.pid');
    writeFileSync(file, text);
    const release = take(file);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(ownIdentity());
    release();
  });
});

describe('two processes that find an abandoned lock at the same moment', () => {
  const abandoned = JSON.stringify({ ...identityOf(process.ppid), started: '1' });

  /** The other process takes the lock in one go, before the n-th call of this one. */
  function raced(n: number, text: string | undefined): { calls: number; holders: number; faults: unknown[] } {
    const file = join(directory, 'a.pid');
    rmSync(directory, { recursive: true, force: true });
    fs.mkdirSync(directory);
    if (text !== undefined) writeFileSync(file, text);
    let calls = 0;
    let holders = 0;
    const faults: unknown[] = [];
    const attempt = (run: () => void) => {
      try {
        run();
        holders += 1;
      } catch (error) {
        faults.push(error);
      }
    };
    const step =
      <A extends unknown[], R>(call: (...args: A) => R) =>
      (...args: A): R => {
        calls += 1;
        if (calls === n) attempt(() => take(file));
        return call(...args);
      };
    const racing: LockFiles = {
      mkdirSync: step(fs.mkdirSync) as LockFiles['mkdirSync'],
      readFileSync: step(fs.readFileSync) as LockFiles['readFileSync'],
      renameSync: step(fs.renameSync),
      rmSync: step(fs.rmSync),
      writeFileSync: step(fs.writeFileSync),
    };
    attempt(() => takePidLock(file, (pid) => new Error(`held by ${pid}`), racing));
    expect(existsSync(file)).toBe(true);
    expect(readdirSync(directory)).toEqual(['a.pid']);
    return { calls, holders, faults };
  }

  it.each([
    ['abandoned', abandoned],
    ['absent', undefined],
    ['half written', '{"pid":'],
  ])('never both hold it, whenever the other one comes: %s', (_, text) => {
    const { calls } = raced(0, text);
    expect(calls).toBeGreaterThan(2);
    for (let n = 1; n <= calls; n++) {
      const { holders, faults } = raced(n, text);
      expect({ n, holders, faults }).toMatchObject({ n, holders: 1, faults: [{ message: `held by ${process.pid}` }] });
    }
  });

  it('a takeover that died on its way does not keep the lock for ever', () => {
    const file = join(directory, 'a.pid');
    writeFileSync(file, abandoned);
    writeFileSync(`${file}.takeover`, abandoned);
    expect(() => take(file)).toThrow('held by');
    take(file)();
  });

  it('of another process is not released by the one that lost it', () => {
    const file = join(directory, 'a.pid');
    const release = take(file);
    writeFileSync(file, 'of another process');
    release();
    expect(readFileSync(file, 'utf8')).toBe('of another process');
  });
});
