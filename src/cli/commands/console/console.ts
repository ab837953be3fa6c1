import { value } from '../../../terminal/command.ts';
import { parseCount } from '../../../terminal/option-values.ts';
import { onDeployment } from '../../session/session.ts';

export const addConsole = onDeployment({
  name: 'console',
  says: 'serve the console on this machine until Ctrl-C; it works with your own credentials',
  options: { '--port <N>': value('port on this machine; any free one by default', parseCount) },
  help: `
Open the printed address: its fragment holds a token, which the page exchanges for a cookie, once. Without either, only
the page's files are served. What is done here is written to the audit log under your AWS identity, or
with --local under the name of your user.

Examples:
  npm run ops -- console
  npm run ops -- console --local --port 8081`,
  async run(session, { port = 0 }) {
    const { json, terminal } = session;
    // Loaded on use: the other commands do without its routes.
    const { buildConsole, CONSOLE_PAGE } = await import('../../../../console/build.ts');
    const { openConsole } = await import('../../../console-server/serve-console.ts');
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
      terminal.say(
        'Open this address in a browser. Ctrl-C ends the console; operations continue when it runs again.\n',
      );
    await opened.resume();
    await session.stopped();
    await opened.close();
  },
});
