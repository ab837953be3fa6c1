import { randomUUID } from 'node:crypto';
import { buildConsole, CONSOLE_PAGE } from '../../../console/build.ts';
import { createDeploymentClients } from '../../adapters/deployment/deployment-clients.ts';
import { ownLocalDeployment } from '../../adapters/deployment/local-deployment.ts';
import { openConsole } from '../../console-server/serve-console.ts';
import type { Teardown } from '../processes/teardown.ts';
import type { Log } from '../support/running.ts';
import type { Endpoints } from './endpoints-file.ts';

export interface ConsoleStart {
  readonly endpoints: Endpoints;
  readonly port: number;
  readonly log: Log;
  readonly teardown: Teardown;
}

/** Serves the console on an origin of its own. Every program of this machine is an operator here. */
export async function startConsole({ endpoints, port, log, teardown }: ConsoleStart): Promise<void> {
  const deployment = ownLocalDeployment(endpoints);
  const clients = createDeploymentClients(deployment);
  buildConsole(CONSOLE_PAGE);
  const opened = await openConsole({
    ...clients,
    deployment,
    clock: () => new Date(),
    newId: randomUUID,
    stage: 'local',
    region: endpoints.region,
    local: true,
    onRecord: ({ who, what, on, result }) =>
      log(`audit: ${who} ${what} ${on.join(' ')} ${JSON.stringify(result ?? 'begun')}`),
    onFault: (error, route) => log(`console: ${route}: ${error instanceof Error ? error.stack : error}`),
    page: CONSOLE_PAGE,
    port,
    token: false,
  });
  await opened.resume();
  teardown.add('console', async () => {
    await opened.close();
    clients.destroy();
  });
}
