import { spawn } from 'node:child_process';
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

async function answering(): Promise<void> {
  for (;;) {
    try {
      // Any answer will do, also the refusal of this unsigned request.
      await fetch(`http://127.0.0.1:${port}/`);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}
