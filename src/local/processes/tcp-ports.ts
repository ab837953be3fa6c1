import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { readLeft } from '../support/running.ts';

const SERVICES = ['dynamodb', 'sqs', 'ses', 'simulator', 'api', 'console'] as const;
export type Ports = Readonly<Record<(typeof SERVICES)[number], number>>;

/**
 * Ports below the ranges for outgoing connections (Linux from 32768 on, other systems from 49152 on). An outgoing
 * connection could hold the port of a stopped runtime for up to a minute.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_767;

/**
 * Chooses the ports that the last runtime of this directory had, as far as they are free. A row that waits for its
 * retry may contain the simulator's URL, so a restarted runtime needs the same ports.
 */
export async function choosePorts(directory: string): Promise<Ports> {
  const file = join(directory, 'ports.json');
  const before = readLeft<Partial<Ports>>(file, {});
  const chosen: Record<string, number> = {};
  for (const service of SERVICES) {
    const remembered = before[service];
    const keep = remembered !== undefined && (await isFree(remembered));
    chosen[service] = keep ? remembered : await unusedPort(Object.values(chosen));
  }
  writeFileSync(file, JSON.stringify(chosen));
  return chosen as Ports;
}

export async function unusedPort(taken: readonly number[] = []): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (!taken.includes(port) && (await isFree(port))) return port;
  }
  throw new Error(`No free loopback port was found between ${FIRST_PORT} and ${LAST_PORT}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
