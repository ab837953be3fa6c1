import { buildConsole, CONSOLE_PAGE } from '../../../../console/build.ts';
import { openConsole } from '../../../console-server/open-console.ts';
import type { Session } from '../../session/session.ts';

/** Serves the console until the person ends the command. @returns the exit code */
export async function runConsole(session: Session, port: number): Promise<number> {
  const { json, terminal } = session;
  buildConsole(CONSOLE_PAGE);
  const opened = await openConsole({
    ...session,
    onFault: (error, route) => terminal.say(`${route} failed: ${error instanceof Error ? error.message : error}\n`),
    page: CONSOLE_PAGE,
    port,
    token: true,
    who: await session.operator(),
  });
  terminal.print(json ? `${JSON.stringify({ url: opened.url })}\n` : `${opened.url}\n`);
  if (!json)
    terminal.say('Open this address in a browser. Ctrl-C ends the console; operations go on when it runs again.\n');
  await opened.resume();
  await session.stopped();
  await opened.close();
  return 0;
}
