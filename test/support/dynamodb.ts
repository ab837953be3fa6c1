import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { lean } from '../../functions/shared/runtime/clients/lean.ts';
import { type DynamodbEngine, startDynamodb } from '../../src/local/stand-ins/dynamodb.ts';
import { startMinistack } from './emulator/ministack.ts';
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

export type Engine = DynamodbEngine | 'ministack';

/** The engines on which the storage contracts can run on this machine; by `npm run test:emulator` the emulator alone. */
export function availableEngines(): Engine[] {
  if (process.env['WITH_EMULATOR']) return ['ministack'];
  const dynoxide = process.platform === 'linux' && process.arch === 'x64';
  return [...(dynoxide ? (['dynoxide'] as const) : []), ...(hasDynamodbLocal() ? (['dynamodb-local'] as const) : [])];
}

export interface TestDynamoDb {
  readonly client: DynamoDBClient;
  readonly endpoint: string;
  /** For further clients. */
  readonly access: ReturnType<typeof accessTo>;
  stop(): Promise<void>;
}

const REGION = 'us-east-1';

/** Neither engine checks a signature, and to compute one is a quarter of what a request costs here. */
const signer: NonNullable<DynamoDBClientConfig['signer']> = {
  async sign(request) {
    request.headers['x-amz-date'] = '20260101T000000Z';
    request.headers['authorization'] =
      `AWS4-HMAC-SHA256 Credential=test/20260101/${REGION}/dynamodb/aws4_request, SignedHeaders=host, Signature=unchecked`;
    return request;
  },
};

const accessTo = (endpoint: string) => ({
  endpoint,
  region: REGION,
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  signer,
});

/** @returns where it listens, and how it is stopped */
async function startEngine(engine?: Engine) {
  if (engine === 'ministack') return startMinistack({ enforceIam: false });
  const logs = mkdtempSync(join(tmpdir(), 'notification-retry-'));
  const { endpoint, child } = await startDynamodb(undefined, join(logs, 'dynamodb.log'), CACHE, engine);
  return { endpoint, stop: () => child.stop() };
}

export async function startTestDynamoDb(engine?: Engine): Promise<TestDynamoDb> {
  const standIn = await startEngine(engine);
  const access = accessTo(standIn.endpoint);
  const client = lean(new DynamoDBClient(access));
  return {
    client,
    endpoint: standIn.endpoint,
    access,
    async stop() {
      client.destroy();
      await standIn.stop();
    },
  };
}
