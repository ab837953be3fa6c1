import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import vm from 'node:vm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildClient } from '../../tools/scripts/build-client.ts';
import { ApiStandIn } from '../support/client/api-stand-in.ts';
import { COMPILERS, INSTALLED, tool } from '../support/packages/users.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

const MINUTES = 60_000;

let project: string;
let installed: string;
beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'loading-'));
  installed = join(project, 'node_modules', 'notification-retry-client');
  await buildClient(installed);
  mkdirSync(join(project, 'node_modules', '@types'));
  for (const name of ['@types/node', 'undici-types'])
    symlinkSync(join(PROJECT_ROOT, 'node_modules', name), join(project, 'node_modules', name));
  write('package.json', JSON.stringify({ dependencies: { 'notification-retry-client': '*' } }));
}, 3 * MINUTES);
afterAll(() => rmSync(project, { recursive: true, force: true }));

function write(name: string, text: string): string {
  const path = join(project, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** @returns what it prints @throws Error with what it printed */
async function run(command: readonly [string, ...string[]], args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const [program, ...before] = command;
  // The repository's Node would come first, for programs that are found by their name.
  const options = { cwd: project, env: { ...process.env, NODE_OPTIONS: '', ...env } };
  return promisify(execFile)(program, [...before, ...args], options).then(
    ({ stdout, stderr }) => `${stdout}${stderr}`,
    ({ stdout, stderr, message }) => {
      throw new Error(`${stdout}${stderr}` || message);
    },
  );
}

/** As CommonJS and as ES module. */
const LOADED = {
  cjs: `const { createNotificationClient, NotHandedOverError } = require('notification-retry-client');
    const { createOfflineQueue, defineNotificationState } = require('notification-retry-client/browser');
    const { version } = require('notification-retry-client/package.json');`,
  mjs: `import { createNotificationClient, NotHandedOverError } from 'notification-retry-client';
    import { createOfflineQueue, defineNotificationState } from 'notification-retry-client/browser';
    const version = '';`,
} as const;

const PRODUCER = `(async () => {
  const client = createNotificationClient({ spoolKey: '${'ab'.repeat(32)}', timeoutMs: 2_000 });
  const notification = { channel: 'email', recipient: 'a@b.example', body: 'Text' };
  const away = createNotificationClient({ url: 'http://127.0.0.1:9', spoolKey: '${'ab'.repeat(32)}' });
  const results = [
    await client.send(notification),
    ...(await client.sendBatch([notification, { ...notification, body: 'Another' }, { ...notification, body: '\\ud83d' }])),
    await away.send({ ...notification, body: 'Later' }, { signal: AbortSignal.timeout(300) }),
    await client.reportFailure('log-1', { error_type: 'UNKNOWN' }),
  ];
  const { accepted } = await client.flush();
  // A server that renders pages has neither elements nor databases.
  defineNotificationState({ url: '/api', getToken: async () => 't' });
  const queue = await createOfflineQueue({ url: 'https://api.example', getToken: async () => 't' }).catch(({ name }) => name);
  const error = new NotHandedOverError([], [], '', undefined);
  console.log(JSON.stringify({ states: results.map(({ state }) => state), accepted, queue, error: error.name, version: typeof version }));
})();`;

describe.each(INSTALLED)('on $name', ({ command }) => {
  const api = new ApiStandIn();
  beforeEach(async () => {
    rmSync(join(project, 'data'), { recursive: true, force: true });
    await api.start();
    return () => api.stop();
  });

  it.each(['cjs', 'mjs'] as const)('the client hands over, and the one for pages is loaded (%s)', async (kind) => {
    const file = write(`producer.${kind}`, `${LOADED[kind]}\n${PRODUCER}`);
    api.accepted.splice(0);
    const env = { NOTIFICATION_API_URL: api.url, NOTIFICATION_API_KEY: api.apiKey };
    expect(JSON.parse(await run(command, [file], env))).toEqual({
      states: ['accepted', 'accepted', 'accepted', 'refused', 'spooled', 'accepted'],
      accepted: 1,
      queue: 'Error',
      error: 'NotHandedOverError',
      version: 'string',
    });
  });
});

describe('where nothing of a platform is there', () => {
  it.each(['index', 'browser'])('%s.cjs is loaded, and touches nothing', (name) => {
    const code = readFileSync(join(installed, `${name}.cjs`), 'utf8');
    const context = vm.createContext({
      module: { exports: {} },
      require: (id: string) => process.getBuiltinModule(id),
    });
    // The language itself stays; `process`, `URL`, `window` and all others of a platform are not there.
    vm.runInContext(code, context);
    expect(Object.keys(context['module'].exports)).toContain(
      name === 'index' ? 'createNotificationClient' : 'defineNotificationState',
    );
    expect(() => vm.runInContext('process', context)).toThrow(/not defined/);
  });
});

const TYPED = `import { createNotificationClient, NotHandedOverError, type Result } from 'notification-retry-client';
  import { createOfflineQueue, defineNotificationState, type NotificationStateElement, TEXTS } from 'notification-retry-client/browser';
  export async function use(element: NotificationStateElement): Promise<string | null> {
    const client = createNotificationClient({ url: 'https://api.example', apiKey: 'nrk_x' });
    const result: Result = await client.send({ channel: 'email', recipient: 'a@b.example', body: 'Text' });
    if (result.state === 'spooled') return result.file;
    // @ts-expect-error there is no such channel
    await client.send({ channel: 'pigeon', recipient: 'a', body: 'Text' });
    const api = { url: 'https://api.example', getToken: async () => 'nrt_x' };
    const queue = await createOfflineQueue(api);
    const sent: number = await queue.retry(1);
    defineNotificationState({ ...api, texts: { 'pt-BR': { ...TEXTS.en, retry: String(sent) } } });
    element.canRetry = false;
    return element.logId;
  }
  console.log(typeof createNotificationClient, typeof defineNotificationState, NotHandedOverError.name);`;

/** By the name of the setup: the options of the compiler, and what it makes of a \`.ts\` that Node runs. */
const RESOLUTIONS: Readonly<Record<string, { readonly options: object; readonly type?: 'module' | 'commonjs' }>> = {
  commonjs: { options: { module: 'commonjs' }, type: 'commonjs' },
  node10: { options: { module: 'commonjs', moduleResolution: 'node10' }, type: 'commonjs' },
  'node16 (CommonJS)': { options: { module: 'node16' }, type: 'commonjs' },
  'node16 (ES modules)': { options: { module: 'node16' }, type: 'module' },
  'nodenext (CommonJS)': { options: { module: 'nodenext' }, type: 'commonjs' },
  'nodenext (ES modules)': { options: { module: 'nodenext' }, type: 'module' },
  bundler: { options: { module: 'esnext', moduleResolution: 'bundler' } },
};

describe.each(COMPILERS)(
  'TypeScript %s',
  (version, compiler) => {
    // TypeScript 7 has no node10 any more, and 6 only to those who know that it goes.
    const names = Object.keys(RESOLUTIONS).filter((name) => name !== 'node10' || version !== '7');
    it.each(names)('compiles what uses both with the resolution %s, and Node 20.11 runs it', async (name) => {
      const { options, type } = RESOLUTIONS[name] ?? { options: {} };
      const folder = `typed-${version}-${name.replaceAll(/\W/g, '')}`;
      write(`${folder}/package.json`, JSON.stringify({ type }));
      write(`${folder}/use.ts`, TYPED);
      const compilerOptions = {
        strict: true,
        target: 'es2022',
        lib: ['es2022', 'dom'],
        // The types of the packages need no types of Node, and are checked themselves.
        types: [],
        rootDir: '.',
        outDir: 'out',
        ...(name === 'node10' && version === '6' && { ignoreDeprecations: '6.0' }),
        ...options,
      };
      const config = write(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions, files: ['use.ts'] }));
      expect(await run([process.execPath, compiler], ['-p', config])).toBe('');
      if (type === undefined) return;
      const node = INSTALLED.find((one) => one.name === 'Node 20.11') ?? INSTALLED[0];
      const said = await run(node?.command ?? [process.execPath], [join(project, folder, 'out', 'use.js')]);
      expect(said).toBe('function function NotHandedOverError\n');
    });
  },
  2 * MINUTES,
);

it(
  'attw and publint find nothing',
  async () => {
    const attw = [tool('@arethetypeswrong', 'cli', 'dist', 'index.js'), '--pack', installed, '--format', 'json'];
    const { analysis } = JSON.parse(await run([process.execPath], attw));
    expect(analysis.problems).toEqual([]);
    expect(Object.keys(analysis.entrypoints)).toEqual(['.', './browser', './package.json']);
    const publint = [tool('publint', 'src', 'cli.js'), 'run', installed, '--strict'];
    expect(await run([process.execPath], publint)).toMatch(/All good!\s*$/);
  },
  MINUTES,
);

describe('from Jest', () => {
  it(
    'the client hands over in its Node, and the element lives in its DOM',
    async () => {
      const api = new ApiStandIn();
      await api.start();
      write('jest/producer.test.js', JEST_PRODUCER);
      write('jest/page.test.js', JEST_PAGE);
      const environments = { producer: 'jest-environment-node', page: 'jest-environment-jsdom' };
      const projects = Object.entries(environments).map(([name, environment]) => ({
        rootDir: join(project, 'jest'),
        testMatch: [`**/${name}.test.js`],
        testEnvironment: tool(environment, 'build', 'index.js'),
        transform: {},
      }));
      const config = write('jest/jest.config.json', JSON.stringify({ projects }));
      const args = [tool('jest', 'bin', 'jest.js'), '--config', config, '--runInBand', '--json'];
      const env = { NOTIFICATION_API_URL: api.url, NOTIFICATION_API_KEY: api.apiKey };
      const said = await run([process.execPath], args, env).finally(() => api.stop());
      const { numPassedTests, numFailedTests } = JSON.parse(said.slice(said.indexOf('{"')).split('\n')[0] ?? '');
      expect({ numPassedTests, numFailedTests }).toEqual({ numPassedTests: 6, numFailedTests: 0 });
    },
    MINUTES,
  );
});

const JEST_PRODUCER = `const { createNotificationClient } = require('notification-retry-client');
test('a producer', async () => {
  const client = createNotificationClient({ spoolDirectory: require('node:path').join(__dirname, 'spool') });
  const result = await client.send({ channel: 'email', recipient: 'a@b.example', body: 'From Jest' });
  expect(result.state).toBe('accepted');
});
test('a page that a server renders', () => {
  const { defineNotificationState } = require('notification-retry-client/browser');
  expect(defineNotificationState({ url: '/api', getToken: async () => 't' })).toBeUndefined();
});`;

const JEST_PAGE = `const { defineNotificationState, TEXTS } = require('notification-retry-client/browser');
const asked = [];
beforeAll(() => {
  globalThis.fetch = async (url) => {
    asked.push(url);
    const text = JSON.stringify({ status: 'failed', canRetry: true, errorMessage: 'No such mailbox.' });
    return { status: 200, headers: { get: () => null }, text: async () => text };
  };
  globalThis.AbortSignal.timeout ??= () => undefined;
  const texts = { 'pt-BR': { ...TEXTS.en, retry: 'Tentar de novo' } };
  defineNotificationState({ url: '/api', getToken: async () => 'nrt_x', texts });
});
const settled = () => new Promise((resolve) => setTimeout(resolve, 20));
test('the element in a list that is sorted again', async () => {
  document.body.innerHTML = '<ul><li><notification-state log-id="NL1"></notification-state></li><li></li></ul>';
  const element = document.querySelector('notification-state');
  await settled();
  expect(element.shadowRoot.textContent).toContain('Not sent. No such mailbox.');
  document.querySelector('ul').append(element.parentElement);
  expect(element.shadowRoot.textContent).toContain('Not sent. No such mailbox.');
  await settled();
  expect(asked).toEqual(['http://localhost/api/v1/notifications/NL1']);
});
test('the language around a shadow root, when it changes', async () => {
  const host = document.createElement('div');
  host.attachShadow({ mode: 'open' }).innerHTML = '<notification-state state="failed" can-retry></notification-state>';
  document.body.append(host);
  const button = host.shadowRoot.querySelector('notification-state').shadowRoot.querySelector('button');
  expect(button.textContent).toBe('Try again');
  document.documentElement.lang = 'pt-BR';
  await settled();
  expect(button.textContent).toBe('Tentar de novo');
  document.documentElement.lang = 'ja-JP';
  await settled();
  expect(button.textContent).toBe('再試行');
});
test('a second definition, as of a module that was changed, replaces the settings', () => {
  document.documentElement.lang = 'pt-BR';
  const texts = { 'pt-BR': { ...TEXTS.en, retry: 'Outra vez' } };
  defineNotificationState({ url: '/api', getToken: async () => 'nrt_x', texts });
  document.body.innerHTML = '<notification-state state="failed" can-retry></notification-state>';
  expect(document.querySelector('notification-state').shadowRoot.textContent).toContain('Outra vez');
  expect(() => defineNotificationState({ url: 'http://a@b', getToken: async () => 't' })).toThrow('no user');
});
test('attributes of frameworks, and properties', () => {
  document.documentElement.lang = 'en';
  const element = document.createElement('notification-state');
  element.setAttribute('can-retry', 'false');
  element.state = 'failed';
  document.body.append(element);
  const button = element.shadowRoot.querySelector('button');
  expect([button.hidden, element.canRetry]).toEqual([true, false]);
  element.canRetry = true;
  expect([button.hidden, element.getAttribute('can-retry')]).toEqual([false, '']);
  element.state = undefined;
  expect(element.hasAttribute('state')).toBe(false);
});`;
