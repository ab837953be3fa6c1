import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The npm package that ships Amazon's jar. It has 57 MB, so it is fetched only where nothing smaller runs. */
const PACKAGE = 'amplify-dynamodb-simulator@2.9.30';

/**
 * Path of DynamoDBLocal.jar: `DYNAMODB_LOCAL_JAR` when it is set, else the jar in `cacheDir`, which is fetched once.
 * @throws Error that says what to install
 */
export async function dynamodbLocalJar(cacheDir: string): Promise<string> {
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
