import { userInfo } from 'node:os';
import { buildConsole, CONSOLE_PAGE } from '../../../../console/build.ts';
import { STACK_VARIABLE } from '../../../adapters/deployment/aws-deployment.ts';
import { createOwnConsole } from '../../../console-server/console.ts';
import { serveConsole } from '../../../console-server/loopback/serve-console.ts';
import type { Session } from '../../session/session.ts';

/** Serves the console until the person ends the command. @returns the exit code */
export async function runConsole(session: Session, port: number): Promise<number> {
  const { deployment, dynamodb, sqs, clock, newId, local, json, env, terminal } = session;
  const own = createOwnConsole({
    deployment,
    dynamodb,
    sqs,
    clock,
    newId,
    local,
    stage: local ? 'local' : (env[STACK_VARIABLE] ?? 'notification-retry-dev'),
    region: String(await dynamodb.config.region()),
    onRecord: () => {},
    onFault: (error, route) => terminal.say(`${route} failed: ${error instanceof Error ? error.message : error}\n`),
  });
  buildConsole(CONSOLE_PAGE);
  const served = await serveConsole({
    dispatch: own.dispatch,
    page: CONSOLE_PAGE,
    port,
    caller: { who: userInfo().username, role: 'operator' },
    token: true,
    local,
  });
  terminal.print(json ? `${JSON.stringify({ url: served.url })}\n` : `${served.url}\n`);
  if (!json)
    terminal.say('Open this address in a browser. Ctrl-C ends the console; operations go on when it runs again.\n');
  await own.resume();
  await session.stopped();
  await served.close();
  await own.stop();
  return 0;
}
