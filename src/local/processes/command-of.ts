import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The command line of a running process; empty when there is no such process, or when this system does not tell. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    // Not Linux, or not running.
  }
  if (process.platform === 'linux') return '';
  try {
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}
