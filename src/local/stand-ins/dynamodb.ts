import { createRequire } from 'node:module';
import { join } from 'node:path';
import { freePort } from '../processes/free-port.ts';
import { type Child, startChild } from '../processes/start-child.ts';
import { dynamodbLocalJar } from './dynamodb-local-jar.ts';

export interface DynamodbStandIn {
  readonly endpoint: string;
  readonly child: Child;
  readonly pids: readonly number[];
}

/**
 * Starts a DynamoDB stand-in on loopback: dynoxide where its binary is installed, else Amazon's DynamoDB Local.
 * @param dataDir keeps the tables; undefined: in memory
 * @param cacheDir keeps DynamoDB Local when it has to be fetched
 * @param engine undefined: the first one that this machine can run
 * @param fixedPort undefined: any free port
 * @throws Error that says what to install when this machine can run neither
 */
export async function startDynamodb(
  dataDir: string | undefined,
  logFile: string,
  cacheDir: string,
  engine?: DynamodbEngine,
  fixedPort?: number,
): Promise<DynamodbStandIn> {
  const port = fixedPort ?? (await freePort());
  const command = await commandFor(port, dataDir, cacheDir, engine);
  const child = await startChild({
    name: `the DynamoDB stand-in (${command.name})`,
    entry: new URL('dynamodb-process.ts', import.meta.url),
    args: [String(port), ...command.line],
    logFile,
  });
  return {
    endpoint: `http://127.0.0.1:${port}`,
    child,
    pids: [child.pid, Number(child.ready['pid'])],
  };
}

export type DynamodbEngine = 'dynoxide' | 'dynamodb-local';

interface Command {
  readonly name: DynamodbEngine;
  readonly line: readonly string[];
}

async function commandFor(
  port: number,
  dataDir: string | undefined,
  cacheDir: string,
  engine: DynamodbEngine | undefined,
): Promise<Command> {
  const binary = engine === 'dynamodb-local' ? undefined : dynoxideBinary();
  if (binary !== undefined) {
    const store = dataDir === undefined ? [] : ['--db-path', join(dataDir, 'dynamodb.sqlite')];
    return { name: 'dynoxide', line: [binary, '--port', String(port), ...store] };
  }
  const jar = await dynamodbLocalJar(cacheDir);
  const store = dataDir === undefined ? ['-inMemory'] : ['-dbPath', dataDir];
  const library = `-Djava.library.path=${join(jar, '..', 'DynamoDBLocal_lib')}`;
  return {
    name: 'dynamodb-local',
    line: ['java', library, '-jar', jar, '-sharedDb', '-disableTelemetry', '-port', String(port), ...store],
  };
}

/** The binary of an optional dependency, which npm installs only on the platforms that it supports. */
function dynoxideBinary(): string | undefined {
  const name = process.platform === 'win32' ? 'dynoxide.exe' : 'dynoxide';
  try {
    const manifest = createRequire(import.meta.url).resolve(
      `@dynoxide/${process.platform}-${process.arch}/package.json`,
    );
    return join(manifest, '..', name);
  } catch {
    return undefined;
  }
}
