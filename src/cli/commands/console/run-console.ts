import { buildConsole, CONSOLE_PAGE } from '../../../../console/build.ts';
import { STACK_VARIABLE } from '../../../adapters/deployment/aws-deployment.ts';
import { openConsole } from '../../../console-server/open-console.ts';
import type { Session } from '../../session/session.ts';

/** Serves the console until the person ends the command. @returns the exit code */
export async function runConsole(session: Session, port: number): Promise<number> {
  const { deployment, dynamodb, sqs, clock, newId, local, json, env, terminal } = session;
  buildConsole(CONSOLE_PAGE);
  const opened = await openConsole({
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
    page: CONSOLE_PAGE,
    port,
    token: true,
  });
  terminal.print(json ? `${JSON.stringify({ url: opened.url })}\n` : `${opened.url}\n`);
  if (!json)
    terminal.say('Open this address in a browser. Ctrl-C ends the console; operations go on when it runs again.\n');
  await opened.resume();
  await session.stopped();
  await opened.close();
  return 0;
}
