import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { serveParent } from '../processes/serve-parent.ts';

/** `… PORT COMMAND ARGUMENTS…`: ends a foreign program, which does not notice its parent's end, with the runtime. */
const [port, command = '', ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'], detached: true });
const gone = new Promise<string>((resolve) => {
  child.once('error', (error) => resolve(error.message));
  child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? `exit code ${code}`}`));
});

await serveParent(
  async () => {
    await Promise.race([
      answering(),
      gone.then((why) => {
        throw new Error(why);
      }),
    ]);
    return { pid: child.pid };
  },
  async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 2_000);
    await gone;
    clearTimeout(timer);
  },
);
// This process ends with its server, so that the parent notices.
gone.then(() => process.exit(1));

/** Resolves when the server takes connections. An HTTP client for this one question would take longer to load. */
async function answering(): Promise<void> {
  const takesOne = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => resolve(true));
      socket.once('error', () => resolve(false)).once('connect', () => socket.destroy());
    });
  while (!(await takesOne())) await new Promise((resolve) => setTimeout(resolve, 25));
}
