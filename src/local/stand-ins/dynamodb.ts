import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Child, startChild } from '../processes/start-child.ts';
import { unusedPort } from '../processes/tcp-ports.ts';

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
  const port = fixedPort ?? (await unusedPort());
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

async function commandFor(
  port: number,
  dataDir: string | undefined,
  cacheDir: string,
  engine: DynamodbEngine | undefined,
): Promise<{ readonly name: DynamodbEngine; readonly line: readonly string[] }> {
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
export function dynoxideBinary(): string | undefined {
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

const run = promisify(execFile);

/** The npm package that ships Amazon's jar. It has 57 MB, so it is fetched only where nothing smaller runs. */
const PACKAGE = 'amplify-dynamodb-simulator@2.9.30';

/** `DYNAMODB_LOCAL_JAR`, else the jar in `cacheDir`, fetched once. @throws Error that says what to install */
async function dynamodbLocalJar(cacheDir: string): Promise<string> {
  const given = process.env['DYNAMODB_LOCAL_JAR'];
  if (given !== undefined) {
    if (existsSync(given)) return given;
    throw new Error(`DYNAMODB_LOCAL_JAR names ${given}, which does not exist`);
  }
  const directory = join(cacheDir, 'dynamodb-local');
  const jar = join(directory, 'package', 'emulator', 'DynamoDBLocal.jar');
  if (existsSync(jar)) return jar;
  await needJava();
  await fetchInto(directory);
  return jar;
}

async function needJava(): Promise<void> {
  try {
    await run('java', ['-version']);
  } catch (cause) {
    throw new Error(
      `No DynamoDB stand-in for ${process.platform}-${process.arch}: install Java 17 or newer, ` +
        'or, where dynoxide exists for this platform, run npm ci without --omit=optional',
      { cause },
    );
  }
}

async function fetchInto(directory: string): Promise<void> {
  const partial = `${directory}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  try {
    const packed = await run('npm', ['pack', PACKAGE, '--silent'], { cwd: partial });
    await run('tar', ['-xzf', packed.stdout.trim()], { cwd: partial });
    rmSync(join(partial, packed.stdout.trim()));
    renameSync(partial, directory);
  } catch (cause) {
    rmSync(partial, { recursive: true, force: true });
    // Another process has fetched it at the same time.
    if (existsSync(directory)) return;
    throw new Error(
      `DynamoDB Local could not be fetched (npm pack ${PACKAGE}). Check the network, ` +
        'or set DYNAMODB_LOCAL_JAR to a DynamoDBLocal.jar that you have',
      { cause },
    );
  }
}
