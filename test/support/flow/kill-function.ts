import { readdirSync, readFileSync } from 'node:fs';

/**
 * Kills one process of a function of a runtime, as Lambda loses a sandbox. Linux only: /proc tells which process is whose.
 * @returns false when no process of the function runs
 */
export function killFunction(runtime_pid: number, function_name: string): boolean {
  const marks = [`AWS_LAMBDA_FUNCTION_NAME=${function_name}\0`];
  const found = readdirSync('/proc').filter(
    (pid) =>
      /^\d+$/.test(pid) &&
      new RegExp(`^PPid:\\t${runtime_pid}$`, 'm').test(read(`/proc/${pid}/status`)) &&
      marks.every((mark) => `${read(`/proc/${pid}/environ`)}\0`.includes(mark)),
  );
  const [pid] = found.sort(() => Math.random() - 0.5);
  if (pid === undefined) return false;
  process.kill(Number(pid), 'SIGKILL');
  return true;
}

/** Empty for a process that ended meanwhile. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
