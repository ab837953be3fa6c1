import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type DynamodbEngine, startDynamodb } from '../../src/local/stand-ins/dynamodb.ts';
import { PROJECT_ROOT } from './project-root.ts';

/** The folder that keeps DynamoDB Local once it is downloaded. */
const CACHE = join(PROJECT_ROOT, '.local', 'cache');

/** DynamoDB Local needs Java. Its 57 MB are downloaded only for `npm run test:dynamodb-local`. */
function hasDynamodbLocal(): boolean {
  if (
    process.env['DYNAMODB_LOCAL_JAR'] === undefined &&
    !existsSync(join(CACHE, 'dynamodb-local')) &&
    !process.env['WITH_DYNAMODB_LOCAL']
  )
    return false;
  try {
    execFileSync('java', ['-version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The engines on which the storage contracts can run on this machine. */
export function availableEngines(): DynamodbEngine[] {
  const dynoxide = process.platform === 'linux' && process.arch === 'x64';
  return [...(dynoxide ? (['dynoxide'] as const) : []), ...(hasDynamodbLocal() ? (['dynamodb-local'] as const) : [])];
}

export interface TestDynamoDb {
  readonly client: DynamoDBClient;
  readonly endpoint: string;
  stop(): Promise<void>;
}

export async function startTestDynamoDb(engine?: DynamodbEngine): Promise<TestDynamoDb> {
  const logs = mkdtempSync(join(tmpdir(), 'notification-retry-'));
  const standIn = await startDynamodb(undefined, join(logs, 'dynamodb.log'), CACHE, engine);
  const client = new DynamoDBClient({
    endpoint: standIn.endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  return {
    client,
    endpoint: standIn.endpoint,
    async stop() {
      client.destroy();
      await standIn.child.stop();
    },
  };
}
