import { spawn } from 'node:child_process';
import { PROJECT_ROOT } from '../project-root.ts';

export type Environment = Readonly<Record<string, string>>;

interface CommandEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the repository in exactly this environment, so that nothing leads it to a real account. */
function runCommand(
  command: string,
  args: readonly string[],
  env: Environment,
  input: string | undefined,
): Promise<CommandEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: PROJECT_ROOT, env, stdio: 'pipe' });
    child.stdin.on('error', () => undefined).end(input);
    const output = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output.stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
  });
}

/**
 * The standard output of a command that succeeds.
 * @throws Error with all that it printed, when it does not
 */
export async function outputOf(
  command: string,
  args: readonly string[],
  env: Environment,
  input?: string,
): Promise<string> {
  const { code, stdout, stderr } = await runCommand(command, args, env, input);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`);
  return stdout;
}
