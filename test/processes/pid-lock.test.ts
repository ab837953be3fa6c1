import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takePidLock } from '../../src/processes/pid-lock.ts';
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

  it.each([
    ['another running process', JSON.stringify(identityOf(process.ppid))],
    ['a running process, written by an older version', String(process.ppid)],
  ])('of %s is refused', (_, text) => {
    const file = join(directory, 'a.pid');
    writeFileSync(file, text);
    expect(() => take(file)).toThrow(`held by ${process.ppid}`);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it.each([
    ['a process whose pid another process has now', JSON.stringify({ ...identityOf(process.ppid), started: '1' })],
    ['a process that no longer runs', JSON.stringify({ ...identityOf(process.ppid), pid: 4_194_303 })],
    ['a process on another host', JSON.stringify({ ...identityOf(process.ppid), scope: 'elsewhere' })],
    ['an older version, with pid and command', JSON.stringify({ pid: process.ppid, command: 'node main.ts' })],
    ['an older version that no longer runs', '4194303'],
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
