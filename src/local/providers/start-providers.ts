import { join } from 'node:path';
import type { Publish } from '../emulator/events/event-bus.ts';
import type { Ports } from '../processes/tcp-ports.ts';
import type { Teardown } from '../processes/teardown.ts';
import { ReceivedLog } from './received-log.ts';
import type { SesLimits } from './ses/sending-limits.ts';
import { startSimulatedSes } from './ses/simulated-ses.ts';
import { startSimulator } from './simulator.ts';

export interface ProviderOptions {
  /** URL of the SES stand-in, which gets the e-mails. */
  readonly sesStandIn: string;
  /** Takes the events of the e-mails. */
  readonly publish: Publish;
  readonly dataDir: string | undefined;
  /** What the local SES allows, in place of generous limits. */
  readonly sesLimits: Partial<SesLimits> | undefined;
  readonly ports: Ports;
  readonly teardown: Teardown;
}

/** URLs of the simulated providers. */
export interface Providers {
  readonly simulator: string;
  readonly ses: string;
}

export async function startProviders({
  sesStandIn,
  publish,
  dataDir,
  sesLimits,
  ports,
  teardown,
}: ProviderOptions): Promise<Providers> {
  const received = new ReceivedLog(dataDir === undefined ? undefined : join(dataDir, 'received.jsonl'));
  const simulator = await startSimulator(received, ports.simulator);
  teardown.add('simulator', () => simulator.close());
  const ses = await startSimulatedSes(sesStandIn, received, publish, {
    port: ports.ses,
    limits: sesLimits ?? {},
    bulkFile: dataDir === undefined ? undefined : join(dataDir, 'newsletter-mails.jsonl'),
  });
  teardown.add('simulated SES', () => ses.close());
  return { simulator: simulator.url, ses: ses.url };
}
