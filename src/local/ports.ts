import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { freePort } from './processes/free-port.ts';

const SERVICES = ['dynamodb', 'sqs', 'ses', 'simulator', 'api'] as const;
export type Ports = Readonly<Record<(typeof SERVICES)[number], number>>;

/**
 * Ports for a runtime: those that it had before in this directory, where they are free. A row that waits for its retry may
 * name the simulator, so a restarted runtime has to be found where the last one was.
 */
export async function choosePorts(directory: string): Promise<Ports> {
  const file = join(directory, 'ports.json');
  const before = read(file);
  const chosen: Record<string, number> = {};
  for (const service of SERVICES) {
    const remembered = before[service];
    const keep = remembered !== undefined && (await isFree(remembered));
    chosen[service] = keep ? remembered : await freePort();
  }
  writeFileSync(file, JSON.stringify(chosen));
  return chosen as Ports;
}

function read(file: string): Partial<Ports> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
