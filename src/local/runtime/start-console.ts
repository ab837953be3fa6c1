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

/** An HTML page that shows what runs where. It does not show the secrets. */
export function statusPage(endpoints: Endpoints): string {
  const { simulator, ses, api } = endpoints.endpoints;
  const queues = Object.entries(endpoints.queues).flatMap(([channel, lanes]) =>
    Object.entries(lanes).map(([lane, url]) => [`${channel} ${lane}`, url] as const),
  );
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>notification-retry, local</title>
<style>body{font:14px/1.5 system-ui;margin:2rem;max-width:70rem}td{padding:.1rem 1rem .1rem 0;font-family:monospace}</style>
<h1>notification-retry, local</h1>
<p><a href="${ses}">e-mails</a> · <a href="${simulator}/_received">received by the simulated providers</a> · process ${endpoints.pid}</p>
${table('Endpoints', Object.entries(endpoints.endpoints))}
${table('Tables', Object.entries(endpoints.tables))}
${table('Queues', queues)}
${table('Functions', Object.entries(endpoints.functions))}
<p>Invoke: <code>POST ${api}/2015-03-31/functions/NAME/invocations</code> · logs: <code>${endpoints.logs}</code></p>
</html>`;
}

function table(title: string, rows: readonly (readonly [string, string])[]): string {
  const cells = rows.map(([name, value]) => `<tr><td>${name}</td><td>${value}</td></tr>`);
  return `<h2>${title}</h2><table>${cells.join('')}</table>`;
}
