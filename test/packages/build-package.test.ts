import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { published } from '../../tools/scripts/build-client.ts';
import { buildPackage, type PackageInputs } from '../../tools/scripts/build-package.ts';
import { emptyProject, type Packed, pack } from '../support/lib/packed-package.ts';
import { cliContext, FUNCTIONS, stackOf } from '../support/lib/synthesize.ts';
import { startLoopback } from '../support/loopback.ts';
import { tool } from '../support/packages/users.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

const MINUTES = 60_000;
/** The package's bin, which is none of the repository. */
const COMMAND = '--no notification-retry'.split(' ');
const [NPX] = ['npx'];
/** As cdk.json's versionReporting: the templates have no resource that names the CDK's version. */
const WITHOUT_VERSION = { 'aws:cdk:disable-version-reporting': true };

let work: string;
let packed: Packed;
let project: string;
let inputs: PackageInputs;
beforeAll(async () => {
  // The tests in test/lib have validated the same template; it takes six seconds per synthesis.
  vi.stubEnv('CDK_VALIDATION', 'false');
  work = mkdtempSync(join(tmpdir(), 'package-'));
  inputs = await buildPackage(join(work, 'built'));
  packed = pack(join(work, 'built'), work);
  project = emptyProject(packed.tarball);
}, 5 * MINUTES);
afterAll(() => {
  vi.unstubAllEnvs();
  for (const path of [work, project]) rmSync(path, { recursive: true, force: true });
});

const installed = (...path: string[]) => join(project, 'node_modules', 'notification-retry', ...path);
const manifest = () => JSON.parse(readFileSync(installed('package.json'), 'utf8'));

describe('the package with the construct', () => {
  it('has the construct, the client, their types, the functions, the page of the console, its documentation, and nothing else', () => {
    const allowed = [
      /^docs\/[\w./-]+\.(md|json)$/,
      /^(package\.json|README\.md|CHANGELOG\.md|SECURITY\.md|LICENSE|THIRD-PARTY-NOTICES|construct\.(js|d\.ts))$/,
      /^types\/(lib|src\/core\/model)\/[a-z/-]+\.d\.ts$/,
      // The shape of a table, of which constructs of lib/ speak.
      /^types\/src\/adapters\/dynamodb\/schema\.d\.ts$/,
      /^client\/(package\.json|(index|browser)\.c?js|browser\.d\.ts|types\/(client|core\/model)\/[a-z/-]+\.d\.c?ts)$/,
      // The states that a page shows.
      /^client\/types\/core\/intake\/public-state\.d\.c?ts$/,
      /^console\/(index\.html|assets\/console-[0-9a-f]{12}\.(js|css|svg))$/,
      /^bin\/[\w.-]+\.mjs$/,
      new RegExp(
        `^functions/(${[...FUNCTIONS, 'console-api', 'console-newsletters', 'console-operations', 'outcomes', 'verify'].join('|')})/[\\w.-]+\\.mjs$`,
      ),
    ];
    expect(packed.files.filter((file) => !allowed.some((pattern) => pattern.test(file)))).toEqual([]);
    expect(packed.files).toEqual(
      expect.arrayContaining([
        'bin/notification-retry.mjs',
        'construct.js',
        'construct.d.ts',
        'client/browser.js',
        'client/index.cjs',
        'client/index.js',
        'types/lib/construct.d.ts',
        'client/types/client/index.d.ts',
        'THIRD-PARTY-NOTICES',
        'console/index.html',
        ...FUNCTIONS.map((name) => `functions/${name}/index.mjs`),
      ]),
    );
  });

  it('is found right by every resolution of modules: attw and publint find nothing', () => {
    const attw = [tool('@arethetypeswrong', 'cli', 'dist', 'index.js'), '--pack', installed(), '--format', 'json'];
    const said = spawnSync(process.execPath, attw, { encoding: 'utf8' }).stdout;
    expect(JSON.parse(said).analysis.problems).toEqual([]);
    const publint = [tool('publint', 'src', 'cli.js'), 'run', installed(), '--strict'];
    const found = spawnSync(process.execPath, publint, { encoding: 'utf8' });
    expect(found).toMatchObject({ status: 0, stdout: expect.stringMatching(/All good!\s*$/) });
  });

  it.each([
    ['cjs', "const { createNotificationClient } = require('notification-retry/client');"],
    ['mjs', "import { createNotificationClient } from 'notification-retry/client';"],
  ])('has the client for whoever requires it, and whoever imports it (%s)', (kind, loads) => {
    const file = join(project, `client.${kind}`);
    writeFileSync(file, `${loads} console.log(typeof createNotificationClient);`);
    expect(execFileSync(process.execPath, [file], { cwd: project, encoding: 'utf8' })).toBe('function\n');
  });

  it('exports the construct and the clients only, and installs no library', () => {
    expect(Object.keys(manifest().exports)).toEqual(['./construct', './client/browser', './client', './package.json']);
    const { dependencies: versions } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8'));
    expect(manifest()).toMatchObject({
      name: 'notification-retry',
      peerDependencies: { 'aws-cdk-lib': `^${versions['aws-cdk-lib']}`, constructs: `^${versions.constructs}` },
    });
    expect(manifest()).not.toHaveProperty('dependencies');
    expect(manifest()).not.toHaveProperty('private');
  });

  it('has every document that its alarms, errors, types and commands name', () => {
    const texts = packed.files
      .filter((file) => /\.(m?js|d\.ts)$|^README/.test(file))
      .map((file) => readFileSync(installed(file), 'utf8'));
    const named = new Set(texts.flatMap((text) => text.match(/\bdocs\/[a-z][\w/-]*(?:\.ja)?\.(?:md|json)/g) ?? []));
    expect(named.size).toBeGreaterThan(10);
    expect([...named].filter((file) => !packed.files.includes(file))).toEqual([]);
  });

  it('says where it comes from, as the provenance does that npm signs', () => {
    expect(published({}, { GITHUB_REPOSITORY: 'owner/name' })).toEqual({
      repository: { type: 'git', url: 'git+https://github.com/owner/name.git' },
      homepage: 'https://github.com/owner/name#readme',
      bugs: { url: 'https://github.com/owner/name/issues' },
      publishConfig: { access: 'public', provenance: true },
    });
    expect(published({}, {})).toEqual({});
  });

  it('has a construct that contains no function, no bundler and no AWS SDK', () => {
    const foreign = /^(functions|test|bench)\/|^node_modules\/(?!croner\/|fast-sha256\/|valibot\/)/;
    const { construct } = inputs;
    const environment = /^functions\/shared\/runtime\/(?:newsletter-)?env(?:-values)?\.ts$/;
    expect(construct.filter((file) => foreign.test(file) && !environment.test(file))).toEqual([]);
  });

  it('suggests the commands as one calls them where it is installed', () => {
    const code = packed.files.filter((file) => /^(functions|bin|console)\//.test(file));
    const texts = code.map((file) => ({ file, text: readFileSync(installed(file), 'utf8') }));
    expect(texts.filter(({ text }) => /npm run (ops|batch)/.test(text)).map(({ file }) => file)).toEqual([]);
    const notice = texts.find(({ file }) => file === 'functions/monitor/index.mjs');
    expect(notice?.text).toContain('npx notification-retry ops ');
  });

  it('has types that import nothing but each other and the CDK', () => {
    const declarations = packed.files.filter((file) => file.endsWith('.d.ts') && !file.startsWith('client/'));
    const imported = declarations.flatMap((file) => {
      const text = readFileSync(installed(file), 'utf8');
      return [...text.matchAll(/(?:from |import\()['"]([^'"]+)['"]/g)].map(([, name = '']) => name);
    });
    expect(imported.filter((name) => !/^(\.{1,2}\/.*\.js|aws-cdk-lib(\/[a-z0-9-]+)?|constructs)$/.test(name))).toEqual(
      [],
    );
  });

  it('has the licence of every library that it contains', () => {
    const text = readFileSync(installed('THIRD-PARTY-NOTICES'), 'utf8');
    const files = Object.values(inputs).flat();
    const libraries = files.flatMap((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
    expect(new Set(libraries).size).toBeGreaterThan(50);
    for (const name of new Set(libraries)) expect(text).toContain(`${name} `);
    expect([...libraries]).toEqual(expect.arrayContaining(['preact', 'uplot', 'oauth4webapi']));
  });
});

describe('the commands of operators in an empty project', () => {
  // The repository's Node alone: the machine's own may be older than the package needs.
  const PATH = [join(PROJECT_ROOT, 'node_modules', 'node', 'bin')]
    .concat((process.env['PATH'] ?? '').split(delimiter).filter((part) => !part.includes('node_modules')))
    .join(delimiter);
  const npx = (args: string, env: NodeJS.ProcessEnv = {}) => {
    const { status, stdout, stderr } = spawnSync(NPX ?? '', [...COMMAND, ...args.split(' ')], {
      cwd: project,
      encoding: 'utf8',
      shell: process.platform === 'win32',
      env: { ...process.env, PATH, NODE_NO_WARNINGS: '1', NODE_OPTIONS: '', ...env },
    });
    return { status, out: stdout, err: stderr };
  };

  it.each(['ops --help', 'job --help', 'sending-job --help', 'ops verify --help'])('%s', (args) => {
    const { status, out } = npx(args);
    expect(status).toBe(0);
    expect(out).toContain('Usage: ');
    expect(out).not.toContain('npm run');
  });

  it.each(['20.20.2', '22.11.0'])('say on Node %s which one they need', (version) => {
    const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`;
    const args = ['--import', `data:text/javascript,${encodeURIComponent(older)}`];
    const bin = installed('bin', 'notification-retry.mjs');
    const { status, stderr } = spawnSync(process.execPath, [...args, bin, 'ops', '--help'], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining('needs Node 22.12 or newer') });
    expect(manifest().engines).toEqual({ node: '>=22.12' });
  });

  it('say what they are when they are asked for something else', () => {
    expect(npx('nope')).toMatchObject({ status: 2, err: expect.stringContaining('ops|job|sending-job') });
  });

  it('say where the local runtime is, which the package has not', () => {
    for (const args of ['ops status --local', 'job --local --dry-run']) {
      expect(npx(args)).toMatchObject({ status: 1, err: expect.stringContaining('repository of notification-retry') });
    }
  });

  it('ask AWS for the stack, with credentials of the environment', async () => {
    const cloudformation = await startLoopback();
    const asked: string[] = [];
    cloudformation.answer = (response, { body }) => {
      asked.push(body);
      const fault = '<Error><Code>ValidationError</Code><Message>Stack with id theirs does not exist</Message></Error>';
      response.writeHead(400, { 'content-type': 'text/xml' });
      response.end(`<ErrorResponse>${fault}<RequestId>1</RequestId></ErrorResponse>`);
    };
    const env = {
      AWS_ENDPOINT_URL: cloudformation.url,
      AWS_REGION: 'eu-west-1',
      NOTIFICATION_RETRY_STACK: 'theirs',
      AWS_ACCESS_KEY_ID: 'x',
      AWS_SECRET_ACCESS_KEY: 'x',
    };
    const child = spawn(NPX ?? '', [...COMMAND, 'ops', 'status'], {
      cwd: project,
      env: { ...process.env, PATH, ...env },
    });
    let err = '';
    child.stderr.on('data', (some) => {
      err += some;
    });
    const [code] = await once(child, 'exit');
    await cloudformation.close();
    expect(code).toBe(1);
    expect(asked.join()).toContain('Action=DescribeStacks');
    expect(err).toContain('theirs');
  });
});

describe('an empty CDK app with the packed package', () => {
  const imports = `import { App, Stack } from 'aws-cdk-lib';
    import { NotificationRetry, NotificationRetryStack, readStageConfig } from 'notification-retry/construct';`;

  it(
    "synthesizes the repository's template in plain JavaScript, with the prebuilt functions",
    () => {
      writeFileSync(
        join(project, 'app.mjs'),
        `${imports}
        const app = new App();
        new NotificationRetryStack(app, 'Stack', { config: readStageConfig(app.node) });
        app.synth();`,
      );
      const out = synthesize('app.mjs');

      const template = JSON.parse(readFileSync(join(out, 'Stack.template.json'), 'utf8'));
      const ours = Template.fromStack(stackOf(WITHOUT_VERSION)).toJSON();
      expect(withoutAssets(template)).toEqual(withoutAssets(ours));
      expect(assetsOf(out)).toHaveLength(FUNCTIONS.length);
      for (const asset of assetsOf(out)) {
        expect(/export\{[^}]*\bas handler\b/.test(readFileSync(join(out, asset, 'index.mjs'), 'utf8'))).toBe(true);
      }
    },
    3 * MINUTES,
  );

  it(
    'compiles in TypeScript, and synthesizes as CommonJS like the apps that `cdk init` makes',
    () => {
      writeFileSync(
        join(project, 'app.ts'),
        `${imports}
        import { type StageConfigInput, StageConfigError } from 'notification-retry/construct';
        const app = new App();
        const props: StageConfigInput = { stage: 'test', senderAddress: 'a@your-domain.jp', maxRetries: { urgent: 3 } };
        const retry = new NotificationRetry(new Stack(app, 'Theirs'), 'Retry', props);
        const name: string = retry.tables.log.tableName;
        if (name === '' || retry.config.maxRetries.info !== 3) throw new Error('the construct is not configured');
        app.synth();

        // @ts-expect-error there is no such priority
        const wrong: StageConfigInput = { stage: 'X', senderAddress: 'x', maxRetries: { highest: 3 } };
        try {
          new NotificationRetry(new Stack(new App(), 'Wrong'), 'Retry', wrong);
          throw new Error('the wrong configuration was accepted');
        } catch (error) {
          if (!(error instanceof StageConfigError) || error.faults.length !== 3) throw error;
        }`,
      );
      tsc('app.ts');

      expect(assetsOf(synthesize('app.js'))).toHaveLength(FUNCTIONS.length);
    },
    3 * MINUTES,
  );

  it(
    'deploys the console with the page that is in the package',
    () => {
      writeFileSync(
        join(project, 'console.mjs'),
        `import { App, Stack } from 'aws-cdk-lib';
        import { NotificationRetry } from 'notification-retry/construct';
        const app = new App();
        const sign = { issuer: 'https://login.example.com', clientId: 'console' };
        new NotificationRetry(new Stack(app, 'Theirs'), 'Retry', {
          stage: 'test', senderAddress: 'a@your-domain.jp', console: sign,
        });
        app.synth();`,
      );
      const out = synthesize('console.mjs');

      const pages = assetsOf(out).filter((asset) => existsSync(join(out, asset, 'index.html')));
      expect(pages.map((asset) => readFileSync(join(out, asset, 'index.html'), 'utf8'))).toEqual([
        readFileSync(installed('console', 'index.html'), 'utf8'),
      ]);
      expect(readdirSync(join(out, pages[0] ?? '', 'assets')).sort()).toEqual(
        readdirSync(installed('console', 'assets')).sort(),
      );
    },
    3 * MINUTES,
  );

  it(
    'compiles and starts with the client',
    () => {
      writeFileSync(
        join(project, 'producer.mts'),
        `import { createNotificationClient, type Result } from 'notification-retry/client';
        const client = createNotificationClient({ url: 'https://api.example', apiKey: 'nrk_x' });
        const send: (recipient: string) => Promise<Result> = (recipient) =>
          client.send({ channel: 'email', recipient, body: 'Text' });
        console.log(typeof send);`,
      );
      tsc('producer.mts');

      expect(execFileSync(process.execPath, ['producer.mjs'], { cwd: project, encoding: 'utf8' })).toBe('function\n');
    },
    MINUTES,
  );

  function tsc(file: string): void {
    const options = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022', '--types', 'node'];
    const compiler = join(PROJECT_ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    execFileSync(process.execPath, [compiler, ...options, '--skipLibCheck', file], { cwd: project, stdio: 'pipe' });
  }

  /** Runs the app as the CDK CLI does, where neither esbuild nor the repository is in reach. */
  function synthesize(file: string): string {
    const out = join(project, `${file}.out`);
    expect(existsSync(join(project, 'node_modules', 'esbuild'))).toBe(false);
    const context = { ...cliContext(), ...WITHOUT_VERSION };
    const env = { ...process.env, CDK_OUTDIR: out, CDK_CONTEXT_JSON: JSON.stringify(context) };
    execFileSync(process.execPath, [file], { cwd: project, env, stdio: 'pipe' });
    return out;
  }
});

/** Directories of the assets that the stack's functions use. */
const assetsOf = (out: string): string[] => readdirSync(out).filter((name) => /^asset\.[0-9a-f]{64}$/.test(name));

/** The template without the names of assets, which come from the hash of their files. */
function withoutAssets(template: unknown): unknown {
  return JSON.parse(JSON.stringify(template), (key, value) => {
    if (key === 'S3Key' || key === 'aws:asset:path' || key === 'aws:asset:is-bundled') return undefined;
    return value;
  });
}
