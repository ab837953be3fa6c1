import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { writePrivateFile } from '../../processes/private-file.ts';
import { readLeft } from '../support/running.ts';
import type { Teardown } from './teardown.ts';

const SERVICES = ['dynamodb', 'sqs', 'ses', 'simulator', 'api', 'console'] as const;
export type Ports = Readonly<Record<(typeof SERVICES)[number], HeldPort>>;

/** A port that nobody else gets until its service takes it, to listen there at once. */
export interface HeldPort {
  readonly port: number;
  /** Frees the port. */
  take(): Promise<number>;
}

/**
 * Ports below the ranges for outgoing connections (Linux from 32768 on, other systems from 49152 on). An outgoing
 * connection could hold the port of a stopped runtime for up to a minute.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_767;

/**
 * Holds the ports that the last runtime of this directory had, as far as they are free. A row that waits for its
 * retry may contain the simulator's URL, so a restarted runtime needs the same ports. They are held because a service
 * starts seconds after its port is chosen, and another runtime chooses meanwhile.
 */
export async function holdPorts(directory: string, teardown: Teardown): Promise<Ports> {
  const file = join(directory, 'ports.json');
  const before = readLeft<Partial<Record<string, number>>>(file, {});
  const held: Record<string, HeldPort> = {};
  for (const service of SERVICES) {
    const remembered = before[service];
    const one = (remembered !== undefined && (await hold(remembered))) || (await holdAny());
    held[service] = one;
    teardown.add(`port of ${service}`, async () => void (await one.take()));
  }
  writePrivateFile(
    file,
    JSON.stringify(Object.fromEntries(Object.entries(held).map(([name, { port }]) => [name, port]))),
  );
  return held as Ports;
}

/** A port that nobody listened at. */
export async function unusedPort(): Promise<number> {
  return (await holdAny()).take();
}

async function holdAny(): Promise<HeldPort> {
  for (let tries = 0; tries < 100; tries++) {
    const held = await hold(randomInt(FIRST_PORT, LAST_PORT + 1));
    if (held !== undefined) return held;
  }
  throw new Error(`No free loopback port was found between ${FIRST_PORT} and ${LAST_PORT}`);
}

function hold(port: number): Promise<HeldPort | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    const take = () => new Promise<number>((done) => server.close(() => done(port)));
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve({ port, take }));
  });
}
