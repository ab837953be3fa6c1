import { join } from 'node:path';
import type { Publish } from '../emulator/events/event-bus.ts';
import type { Ports } from '../processes/ports.ts';
import type { Teardown } from '../processes/teardown.ts';
import { ReceivedLog } from './received.ts';
import { startSesProxy } from './ses/simulated-ses.ts';
import { startSimulator } from './simulator.ts';

/** Starts the simulated providers; e-mail goes on to the SES stand-in at `sesStandIn`, its events to `publish`. */
export async function startSimulations(
  sesStandIn: string,
  dataDir: string | undefined,
  ports: Ports,
  teardown: Teardown,
  publish: Publish,
): Promise<{ readonly simulator: string; readonly ses: string }> {
  const received = new ReceivedLog(dataDir === undefined ? undefined : join(dataDir, 'received.jsonl'));
  const simulator = await startSimulator(received, ports.simulator);
  teardown.add('simulator', () => simulator.close());
  const ses = await startSesProxy(sesStandIn, received, publish, ports.ses);
  teardown.add('SES proxy', () => ses.close());
  return { simulator: simulator.url, ses: ses.url };
}
