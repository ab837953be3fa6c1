import { type Child, startChild } from '../processes/start-child.ts';

export interface SesStandIn {
  readonly endpoint: string;
  readonly child: Child;
}

/**
 * Starts the stand-in that stores e-mails. It accepts every mail; providers/ses/ simulates SES's answers and events.
 */
export async function startSes(logFile: string): Promise<SesStandIn> {
  const child = await startChild({
    name: 'the SES stand-in (aws-ses-v2-local)',
    entry: new URL('ses-process.ts', import.meta.url),
    args: [],
    logFile,
  });
  return { endpoint: `http://127.0.0.1:${String(child.ready['port'])}`, child };
}
