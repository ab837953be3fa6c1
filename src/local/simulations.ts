import { join } from 'node:path';
import type { Publish } from './event-bus.ts';
import type { Ports } from './ports.ts';
import { ReceivedLog } from './simulator/received.ts';
import { startSesProxy } from './simulator/ses-proxy.ts';
import { startSimulator } from './simulator/simulator.ts';
import type { Stopping } from './stopping.ts';

/** Starts the simulated providers; e-mail goes on to the SES stand-in at `sesStandIn`, its events to `publish`. */
export async function startSimulations(
  sesStandIn: string,
  dataDir: string | undefined,
  ports: Ports,
  stopping: Stopping,
  publish: Publish,
): Promise<{ readonly simulator: string; readonly ses: string }> {
  const received = new ReceivedLog(dataDir === undefined ? undefined : join(dataDir, 'received.jsonl'));
  const simulator = await startSimulator(received, ports.simulator);
  stopping.add('simulator', () => simulator.close());
  const ses = await startSesProxy(sesStandIn, received, publish, ports.ses);
  stopping.add('SES proxy', () => ses.close());
  return { simulator: simulator.url, ses: ses.url };
}
