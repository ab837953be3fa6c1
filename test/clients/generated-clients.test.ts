import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import apiDocument from '../../docs/reference/api.json' with { type: 'json' };
import { Flow } from '../support/flow/harness.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';
import { GO_COMMANDS, hasTool, NODE_TOOLS, PYTHON_COMMANDS } from '../support/tools/tools.ts';

const PRODUCERS = join(PROJECT_ROOT, 'test', 'support', 'clients');
const GO_MODULE = join(PROJECT_ROOT, 'tools', 'third-party', 'go');
const TYPESCRIPT = join(PROJECT_ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const MINUTE = 60_000;

type Environment = Readonly<Record<string, string>>;

/** A generator of clients, and the producer that uses what it generates. */
interface Generator {
  readonly language: string;
  readonly runtime: string;
  readonly program: string;
  /** Generates the client beside the producer in `folder`, and compiles both. */
  readonly build: (folder: string) => Promise<void>;
  /** Command and arguments that run the producer. */
  readonly producer: readonly [command: string, ...args: string[]];
}

const GENERATORS: Readonly<Record<string, Generator>> = {
  'openapi-typescript': {
    language: 'typescript',
    runtime: 'npm',
    program: join(NODE_TOOLS, 'openapi-typescript', 'bin', 'cli.js'),
    async build(folder) {
      copyFileSync(join(PRODUCERS, 'producer.ts'), join(folder, 'producer.ts'));
      symlinkSync(NODE_TOOLS, join(folder, 'node_modules'));
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
      // Otherwise it takes a property with a default as required, in requests, too.
      const options = ['--default-non-nullable=false', '-o', 'api.ts'];
      await run(process.execPath, [this.program, 'openapi.json', ...options], folder);
      const types = ['--types', 'node', '--typeRoots', join(PROJECT_ROOT, 'node_modules', '@types')];
      const strict = [
        '--strict',
        '--noEmit',
        '--skipLibCheck',
        '--verbatimModuleSyntax',
        '--allowImportingTsExtensions',
      ];
      const target = ['--target', 'es2024', '--module', 'nodenext'];
      await run(process.execPath, [TYPESCRIPT, ...target, ...strict, ...types, 'producer.ts'], folder);
    },
    producer: [process.execPath, 'producer.ts'],
  },
  'oapi-codegen': {
    language: 'go',
    runtime: 'go',
    program: join(GO_COMMANDS, 'oapi-codegen'),
    async build(folder) {
      for (const file of ['go.mod', 'go.sum']) copyFileSync(join(GO_MODULE, file), join(folder, file));
      copyFileSync(join(PRODUCERS, 'producer.go'), join(folder, 'producer.go'));
      const options = ['-generate', 'types,client', '-package', 'main', '-o', 'client.go'];
      await run(this.program, [...options, 'openapi.json'], folder);
      await run('go', ['vet', '.'], folder);
      await run('go', ['build', '-o', 'producer', '.'], folder);
    },
    producer: ['./producer'],
  },
  'openapi-python-client': {
    language: 'python',
    runtime: 'python3',
    program: join(PYTHON_COMMANDS, 'openapi-python-client'),
    async build(folder) {
      copyFileSync(join(PRODUCERS, 'producer.py'), join(folder, 'producer.py'));
      const target = ['--meta', 'none', '--output-path', 'notification_retry_client', '--fail-on-warning'];
      await run(this.program, ['generate', '--path', 'openapi.json', ...target], folder);
      await run(join(PYTHON_COMMANDS, 'python'), ['-m', 'compileall', '-q', 'notification_retry_client'], folder);
    },
    producer: [join(PYTHON_COMMANDS, 'python'), 'producer.py'],
  },
};

async function run(command: string, args: readonly string[], cwd: string, env: Environment = {}): Promise<string> {
  // openapi-python-client formats what it generates with the ruff that is beside it.
  const path = [PYTHON_COMMANDS, process.env['PATH']].join(delimiter);
  const options = { cwd, env: { ...process.env, PATH: path, ...env }, maxBuffer: 2 ** 24 };
  try {
    return (await promisify(execFile)(command, args, options)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

describe('a client that others generate', { timeout: 5 * MINUTE }, () => {
  const flow = new Flow();
  const directory = mkdtempSync(join(tmpdir(), 'notification-retry-clients-'));
  let API_KEY: string;

  beforeAll(async () => {
    await flow.start({ baseIntervalSeconds: 0.5 });
    const scopes = ['--scope', 'send', '--scope', 'read'];
    API_KEY = (await flow.opsJson<{ key: string }>('keys', 'create', '--tenant', 'T1', ...scopes)).key;
  }, 3 * MINUTE);
  afterAll(async () => {
    await flow.end();
    rmSync(directory, { recursive: true, force: true });
  });

  describe.each(Object.entries(GENERATORS))('by %s', (name, generator) => {
    it.skipIf(!hasTool(name, generator.program, generator.runtime))(
      'compiles, hands notifications over and understands the answers',
      async () => {
        const folder = join(directory, generator.language);
        mkdirSync(folder);
        writeFileSync(join(folder, 'openapi.json'), JSON.stringify(apiDocument));
        await generator.build(folder);
        const { api: API, simulator } = flow.endpoints.endpoints;
        const RECIPIENT = `${simulator}/webhook/ok/${generator.language}`;
        const [command, ...args] = generator.producer;
        const { log_id, ...answers } = JSON.parse(await run(command, args, folder, { API, API_KEY, RECIPIENT }));
        expect(answers).toEqual({
          attempts: ['SUCCESS'],
          repeats: [false, true],
          refused: expect.stringContaining('invalid-request'),
          listed: true,
          scheduled: true,
          reused: expect.stringContaining('idempotency-key-reused'),
        });
        expect(await flow.received(`log_id=${log_id}`)).toHaveLength(1);
      },
    );
  });
});
