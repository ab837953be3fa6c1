import { execFile, execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createNotificationClient } from '../../src/client/index.ts';
import { buildClient, type ClientInputs } from '../../tools/scripts/build-client.ts';
import { ApiStandIn } from '../support/client/api-stand-in.ts';
import { pack } from '../support/lib/packed-package.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

/** The Node of the tests, and the Node of this machine, which may be older. */
const NODES = [process.execPath, ...systemNodes()];

let project: string;
let inputs: ClientInputs;
beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'producer-'));
  const installed = join(project, 'node_modules', 'notification-retry-client');
  inputs = await buildClient(installed);
  mkdirSync(join(project, 'node_modules', '@types'));
  symlinkSync(join(PROJECT_ROOT, 'node_modules', '@types', 'node'), join(project, 'node_modules', '@types', 'node'));
  symlinkSync(join(PROJECT_ROOT, 'node_modules', 'undici-types'), join(project, 'node_modules', 'undici-types'));
}, 120_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe('the package that producers install', () => {
  it('contains the client and one pure library: no server code, no AWS, no CDK', () => {
    expect(
      inputs.module.filter((file) => !/^(src\/(client|processes)\/|node_modules\/canonicalize\/)/.test(file)),
    ).toEqual([]);
    expect(inputs.module.length).toBeGreaterThan(10);
  });

  it("has the spool's commands, with the client and the terminal's libraries: no server code, no AWS", () => {
    const libraries = new Set(inputs.command.flatMap((file) => /^node_modules\/(@?[^/]+)/.exec(file)?.[1] ?? []));
    expect([...libraries].sort()).toEqual([
      'ansi-regex',
      'canonicalize',
      'cli-progress',
      'commander',
      'emoji-regex',
      'is-fullwidth-code-point',
      'picocolors',
      'string-width',
      'strip-ansi',
    ]);
    const own = inputs.command.filter((file) => !file.startsWith('node_modules/'));
    expect(own.filter((file) => !/^src\/(client|processes|cli|terminal|core)\//.test(file))).toEqual([]);
  });

  it('has its code, types and documentation, and nothing else', () => {
    const packed = mkdtempSync(join(tmpdir(), 'packed-'));
    try {
      const { files } = pack(join(project, 'node_modules', 'notification-retry-client'), packed);
      expect(files.filter((file) => !file.startsWith('types/')).sort()).toEqual([
        'LICENSE',
        'README.md',
        'THIRD-PARTY-NOTICES',
        'browser.js',
        'index.js',
        'index.js.map',
        'notification-spool.js',
        'package.json',
      ]);
      const types = files.filter((file) => file.startsWith('types/'));
      expect(types).toContain('types/client/index.d.ts');
      expect(types).toContain('types/client/browser/index.d.ts');
      expect(types.filter((file) => !/^types\/(client|core\/(model|intake))\/[a-z/-]+\.d\.ts$/.test(file))).toEqual([]);
    } finally {
      rmSync(packed, { recursive: true, force: true });
    }
  });

  it('has its documentation, and the licence of every library in it', () => {
    const built = join(project, 'node_modules', 'notification-retry-client');
    const text = (file: string) => readFileSync(join(built, file), 'utf8');
    const libraries = inputs.command.flatMap((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
    for (const name of new Set(libraries)) expect(text('THIRD-PARTY-NOTICES')).toMatch(new RegExp(`^${name} \\d`, 'm'));
    expect(
      text('THIRD-PARTY-NOTICES').match(/Permission is hereby granted|Apache License|ISC/g)?.length,
    ).toBeGreaterThan(8);
    expect(text('README.md')).toContain('notification-spool');
  });

  it.each(NODES)('works on %s', async (node) => {
    const api = new ApiStandIn();
    await api.start();
    writeFileSync(
      join(project, 'producer.mjs'),
      `import { createNotificationClient } from 'notification-retry-client';
      const client = createNotificationClient({ spoolKey: '${'ab'.repeat(32)}', timeoutMs: 2_000 });
      const notification = { channel: 'email', recipient: 'a@b.example', body: 'Text' };
      const away = createNotificationClient({ url: 'http://127.0.0.1:9', spoolKey: '${'ab'.repeat(32)}' });
      const stopped = AbortSignal.timeout(300);
      const results = [
        await client.send(notification),
        ...(await client.sendBatch([notification, { ...notification, body: 'Another' }])),
        await away.send({ ...notification, body: 'Later' }, { signal: stopped }),
        await client.reportFailure('log-1', { error_type: 'UNKNOWN' }),
      ];
      const { accepted } = await client.flush();
      console.log(JSON.stringify({ states: results.map(({ state }) => state), accepted }));`,
    );
    const env = { NOTIFICATION_API_URL: api.url, NOTIFICATION_API_KEY: api.apiKey };
    const { stdout } = await promisify(execFile)(node, ['producer.mjs'], { cwd: project, env });
    await api.stop();
    expect(JSON.parse(stdout)).toEqual({
      states: ['accepted', 'accepted', 'accepted', 'spooled', 'accepted'],
      accepted: 1,
    });
    expect(await api.delivered()).toHaveLength(3);
    expect(existsSync(join(project, 'data', 'spool'))).toBe(true);
  });

  it.each(NODES)(
    "packed and installed, its command works on the spool of the producer's directory, on %s",
    async (node) => {
      const packed = mkdtempSync(join(tmpdir(), 'packed-'));
      const api = new ApiStandIn();
      try {
        const pack = ['pack', '--json', '--pack-destination', packed];
        const built = join(project, 'node_modules', 'notification-retry-client');
        const [{ filename }] = JSON.parse(execFileSync('npm', pack, { cwd: built, encoding: 'utf8', stdio: 'pipe' }));
        execFileSync('tar', ['-xzf', filename], { cwd: packed });
        const { bin } = JSON.parse(readFileSync(join(packed, 'package', 'package.json'), 'utf8'));
        const command = join(packed, 'package', bin['notification-spool']);
        expect(statSync(command).mode & 0o111).toBe(0o111);
        expect(readFileSync(command, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
        const run = (...args: string[]) =>
          promisify(execFile)(node, [command, ...args], {
            cwd: packed,
            env: { NOTIFICATION_API_URL: api.url, NOTIFICATION_API_KEY: api.apiKey },
          });
        await api.start();
        api.instead = () => ({ status: 401 });
        const { url, apiKey } = api;
        const client = createNotificationClient({ url, apiKey, spoolDirectory: join(packed, 'data', 'spool') });
        await client.send({ channel: 'email', recipient: 'a@b.example', body: 'Text' });
        api.instead = () => undefined;

        expect((await run('--help')).stdout).toMatch(/^Usage: notification-spool .*flush.*list.*show.*resend.*clean/s);
        const help = await run('flush', '--help');
        expect(help.stdout).toContain('npx notification-spool flush --json >/dev/null');
        expect(help.stdout).not.toMatch(/npm run|--local/);
        expect((await run('list')).stdout).toContain('status 401');
        expect(await run('show', 'nothing').catch((error) => error)).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('see `npx notification-spool list`'),
        });
        expect(await run('flush')).toEqual({ stdout: '1 handed over, 0 still in the spool, 0 refused.\n', stderr: '' });
        expect(api.accepted).toHaveLength(1);
      } finally {
        await api.stop();
        rmSync(packed, { recursive: true, force: true });
      }
    },
  );

  it('has types that a strict project compiles with', () => {
    writeFileSync(
      join(project, 'producer.mts'),
      `import { createNotificationClient, NotHandedOverError, type Result } from 'notification-retry-client';
      const client = createNotificationClient({ url: 'https://api.example', apiKey: 'nrk_x' });
      const result: Result = await client.send({ channel: 'email', recipient: 'a@b.example', body: 'Text' });
      if (result.state === 'spooled') console.log(result.file, NotHandedOverError.name);
      // @ts-expect-error there is no such channel
      await client.send({ channel: 'pigeon', recipient: 'a', body: 'Text' });`,
    );
    const tsc = join(PROJECT_ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--types',
      'node',
      '--lib',
      'es2022',
    ];
    const compiled = () =>
      execFileSync(process.execPath, [tsc, ...options, 'producer.mts'], {
        cwd: project,
        encoding: 'utf8',
        stdio: 'pipe',
      });
    expect(compiled()).toBe('');
  }, 60_000);

  it('has types for web pages, which need no types of Node', () => {
    writeFileSync(
      join(project, 'page.mts'),
      `import { createOfflineQueue, defineNotificationState, TEXTS } from 'notification-retry-client/browser';
      const api = { url: 'https://api.example', getToken: async () => 'nrt_x' };
      defineNotificationState({ ...api, texts: { fr: { ...TEXTS.en, retry: 'Encore' } } });
      const queue = await createOfflineQueue(api);
      const { id } = await queue.add({ channel: 'email', recipient: 'a@b.example', body: 'Text' });
      const sent: number = await queue.retry(id);
      console.log(sent);
      // @ts-expect-error there is no such channel
      await queue.add({ channel: 'pigeon', recipient: 'a', body: 'Text' });`,
    );
    const compilerOptions = {
      noEmit: true,
      strict: true,
      module: 'nodenext',
      target: 'es2022',
      lib: ['es2022', 'dom'],
      types: [],
    };
    writeFileSync(join(project, 'tsconfig.page.json'), JSON.stringify({ compilerOptions, files: ['page.mts'] }));
    const tsc = join(PROJECT_ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const run = () =>
      execFileSync(process.execPath, [tsc, '-p', 'tsconfig.page.json'], { cwd: project, encoding: 'utf8' });
    expect(run()).toBe('');
  }, 60_000);
});

/** The first Node in the PATH that is not this repository's. */
function systemNodes(): string[] {
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((directory) => !directory.includes('node_modules'))
    .map((directory) => join(directory, 'node'))
    .find((path) => existsSync(path));
  return found === undefined ? [] : [found];
}
