import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { unusedPort } from '../../../src/local/processes/tcp-ports.ts';
import { PROJECT_ROOT } from '../project-root.ts';
import { PYTHON_COMMANDS } from '../tools/tools.ts';
import type { Environment } from './run-command.ts';
import { until } from './until.ts';

const REGION = 'us-east-1';
export const ACCOUNT = '000000000000';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The emulator's own administrator. */
export const ROOT: Credentials = { accessKeyId: 'test', secretAccessKey: 'test' };

export interface Ministack {
  readonly port: number;
  readonly endpoint: string;
  /** The certificate that the emulator answers with, when it speaks TLS. */
  readonly certificate: string | undefined;
  /** What a command needs to reach the emulator, and nothing else of AWS. */
  environment(credentials?: Credentials): Environment;
  /** What the emulator and the functions have logged so far. */
  log(): string;
  stop(): Promise<void>;
}

/**
 * Starts an AWS emulator on loopback, with its state in memory and its files in a directory of its own. Functions run as
 * processes of the Node that runs the tests.
 * @param enforceIam each request is then authorized by the policies of its caller, and comes by TLS
 */
export async function startMinistack({ enforceIam }: { readonly enforceIam: boolean }): Promise<Ministack> {
  const directory = mkdtempSync(join(tmpdir(), 'notification-retry-emulator-'));
  const home = join(directory, 'home');
  mkdirSync(home);
  const port = await unusedPort();
  const endpoint = `${enforceIam ? 'https' : 'http'}://127.0.0.1:${port}`;
  const certificate = enforceIam ? join(directory, 'ministack-tls', 'server.crt') : undefined;
  const shared = {
    PATH: [PYTHON_COMMANDS, join(PROJECT_ROOT, 'node_modules', '.bin'), process.env['PATH']].join(delimiter),
    HOME: home,
    TMPDIR: directory,
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  const logFile = join(directory, 'ministack.log');
  const log = openSync(logFile, 'a');
  const child = spawn(join(PYTHON_COMMANDS, 'ministack'), [], {
    cwd: directory,
    env: {
      ...shared,
      GATEWAY_PORT: String(port),
      BIND_HOST: '127.0.0.1',
      MINISTACK_HOST: '127.0.0.1',
      MINISTACK_REGION: REGION,
      // Listeners that are of no use here.
      IOT_MTLS_ENABLED: '0',
      SFTP_ENABLED: '0',
      PYTHONPATH: join(import.meta.dirname, 'python'),
      ...(enforceIam && { AUTH: 'true', USE_SSL: '1' }),
    },
    stdio: ['ignore', log, log],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));

  const stack: Ministack = {
    port,
    endpoint,
    certificate,
    environment: ({ accessKeyId, secretAccessKey } = ROOT) => ({
      ...shared,
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: REGION,
      AWS_DEFAULT_REGION: REGION,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      ...(certificate && { NODE_EXTRA_CA_CERTS: certificate, AWS_CA_BUNDLE: certificate }),
      NODE_COMPILE_CACHE: join(PROJECT_ROOT, '.local', 'compile-cache'),
      JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION: '1',
    }),
    log: () => readFileSync(logFile, 'utf8'),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
  try {
    await until('the emulator is ready', () => {
      if (child.exitCode !== null) throw new Error(`the emulator ended with ${child.exitCode}:\n${stack.log()}`);
      return stack.log().includes('Running on');
    });
  } catch (error) {
    await stack.stop();
    throw error;
  }
  return stack;
}
