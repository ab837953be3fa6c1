import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createNotificationClient } from '../../src/client/index.ts';
import { buildClient, type ClientInputs } from '../../tools/scripts/build-client.ts';
import { ApiStandIn } from '../support/client/api-stand-in.ts';
import { pack } from '../support/lib/packed-package.ts';
import { INSTALLED } from '../support/packages/users.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

/** The Node of the tests, the Node of this machine, and the oldest one. */
const NODES = INSTALLED.filter(({ name }) => name.includes('Node')).map(({ command: [path] }) => path);

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
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'THIRD-PARTY-NOTICES',
        'browser.cjs',
        'browser.d.ts',
        'browser.js',
        'index.cjs',
        'index.cjs.map',
        'index.js',
        'index.js.map',
        'notification-spool.js',
        'package.json',
      ]);
      const types = files.filter((file) => file.startsWith('types/'));
      expect(types).toContain('types/client/index.d.ts');
      expect(types).toContain('types/client/browser/index.d.ts');
      const form = /^types\/(client|core\/(model|intake))\/[a-z/-]+\.d\.c?ts$/;
      expect(types.filter((file) => !form.test(file))).toEqual([]);
      const required = types.filter((file) => file.endsWith('.d.cts')).map((file) => file.replace('.d.cts', '.d.ts'));
      expect(required).toEqual(types.filter((file) => file.endsWith('.d.ts')));
    } finally {
      rmSync(packed, { recursive: true, force: true });
    }
  });

  it("has types that need neither Node's nor the DOM's", () => {
    writeFileSync(join(project, 'bare.ts'), "import { createNotificationClient } from 'notification-retry-client';\n");
    const compilerOptions = { module: 'nodenext', strict: true, noEmit: true, types: [], lib: ['ES2022'] };
    writeFileSync(join(project, 'bare.json'), JSON.stringify({ compilerOptions, files: ['bare.ts'] }));
    const tsc = join(PROJECT_ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    expect(spawnSync(process.execPath, [tsc, '-p', join(project, 'bare.json')], { encoding: 'utf8' })).toMatchObject({
      status: 0,
      stdout: '',
    });
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
});
