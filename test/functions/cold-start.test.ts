import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, it, onTestFinished } from 'vitest';
import { emailEnv } from '../../functions/shared/runtime/env.ts';
import { BUNDLE_OPTIONS } from '../../lib/constructs/function/function-bundle.ts';
import { BREAKER_SETTINGS } from '../../src/core/breaker/breaker-policy.ts';
import { RETRY_SETTINGS } from '../../src/core/model/retry-policy.ts';
import { standardsOf } from '../../src/core/model/setting.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

interface Loaded {
  /** Packages whose code is loaded. */
  readonly packages: ReadonlySet<string>;
  /** Modules of Node that are imported as ES modules. */
  readonly builtins: ReadonlySet<string>;
}

interface Bundles {
  readonly loadedBy: (service: string) => Loaded;
  /** What CommonJS packages ask for outside the bundles, lazily loaded ones too. */
  readonly required: readonly string[];
  /** What chunks import outside the bundles at their start, lazily loaded ones too. */
  readonly imported: readonly string[];
  /** Modules that are loaded on first use. */
  readonly lazy: readonly string[];
}

/** What the functions' bundles load at a cold start, without the chunks that are loaded on first use. */
async function loadedAtOnce(services: readonly string[]): Promise<Bundles> {
  // One build for all costs a third. Its chunks hold what a function loads by itself, and perhaps more, never less.
  const { metafile } = await build({
    ...BUNDLE_OPTIONS,
    logLevel: 'silent',
    entryPoints: Object.fromEntries(services.map((service) => [service, `functions/${service}/handler.ts`])),
    outdir: 'never-written',
    write: false,
    metafile: true,
  });
  const { outputs } = metafile;
  const outside = Object.values(outputs).flatMap(({ imports }) => imports.filter(({ external }) => external));
  const pathsOf = (wanted: string) => outside.filter(({ kind }) => kind === wanted).map(({ path }) => path);
  const loadedBy = (service: string) => {
    const loaded = new Set<string>();
    const builtins = new Set<string>();
    const visit = (path: string) => {
      const output = outputs[path];
      if (output === undefined || loaded.has(path)) return;
      loaded.add(path);
      for (const { kind, path: next, external } of output.imports) {
        if (kind === 'import-statement') external ? builtins.add(next) : visit(next);
      }
    };
    visit(`never-written/${service}.mjs`);
    const inputs = [...loaded].flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
    const packages = new Set(inputs.flatMap((input) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? []));
    return { packages, builtins };
  };
  const entries = Object.values(outputs).flatMap(({ entryPoint }) => entryPoint ?? []);
  return {
    loadedBy,
    required: pathsOf('require-call'),
    imported: pathsOf('import-statement'),
    lazy: entries.filter((path) => !path.startsWith('functions/')),
  };
}

/** What each function loads on first use only. */
const LATER: readonly (readonly [service: string, later: readonly string[]])[] = [
  ['send-webhook', ['@aws-sdk/client-sqs', '@aws-sdk/client-kms', '@aws-lambda-powertools/parameters', 'jose']],
  [
    'newsletter-send',
    ['@aws-sdk/client-sesv2', '@aws-sdk/client-sqs', 'htmlparser2', 'entities', '@aws-sdk/client-kms'],
  ],
  ['send-email', ['@aws-sdk/client-sqs', '@aws-sdk/client-kms']],
  ['send-slack', ['@aws-sdk/client-sqs', '@aws-sdk/client-kms']],
  ['newsletter-clock', ['@aws-sdk/client-sqs']],
  ['newsletter-prepare', ['@aws-sdk/client-sqs', 'htmlparser2', 'entities', '@tryghost/nql-lang']],
  [
    'api-emails',
    [
      '@aws-sdk/client-sesv2',
      '@aws-sdk/client-sqs',
      '@aws-sdk/client-scheduler',
      'htmlparser2',
      'entities',
      '@tryghost/nql-lang',
    ],
  ],
  ['api-intake', ['@aws-sdk/client-sqs', '@aws-sdk/client-kms']],
  ['api-notifications', ['@aws-sdk/client-sqs']],
  ['api-authorizer', ['@aws-sdk/client-secrets-manager', '@aws-lambda-powertools/parameters', 'jose']],
  ['reconciler', ['@aws-sdk/client-lambda']],
  ['dispatcher', ['@aws-sdk/client-lambda']],
];

/** Names, except where the function wants more. */
const EMAIL_ENV: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.keys(emailEnv.entries).map((name) => [name, 'name'])),
  ALLOW_PRIVATE_TARGETS: 'false',
  SLACK_API_URL: 'https://slack.test',
  BREAKER: JSON.stringify(standardsOf(BREAKER_SETTINGS)),
  PACING: '{"express_only":0.1,"newsletter":0.7,"fallback_per_second":10,"workers":15}',
  LANE_QUEUES: '{"email":{"express":"https://sqs.test/express","standard":"https://sqs.test/standard"}}',
  RETRY_POLICY: JSON.stringify(standardsOf(RETRY_SETTINGS)),
  CLAIM_SECONDS: '65',
  SEND_TIMEOUT_SECONDS: '20',
};

/** The modules of Node that are loaded after the import of a bundle. */
const LOADED = 'await import(process.argv[1]); console.log(process.moduleLoadList.join()); process.exit(0)';

const FUNCTIONS = readdirSync(join(PROJECT_ROOT, 'functions')).filter((name) => name !== 'shared');
const { loadedBy, required, imported, lazy } = await loadedAtOnce(FUNCTIONS);

describe('at a cold start', () => {
  it.each(LATER)('%s loads only what each event needs', (service, later) => {
    const { packages, builtins } = loadedBy(service);
    expect(packages).toContain('@aws-sdk/client-dynamodb');
    expect([...packages].filter((name) => later.includes(name))).toEqual([]);
    // An import would read all exports of the module, and Node would load what stands behind them.
    expect([...builtins]).toEqual([]);
  });

  it('outcomes loads the client of DynamoDB with the first address whose members it looks up', () => {
    const { packages } = loadedBy('outcomes');
    expect(packages).toContain('@aws-sdk/client-eventbridge');
    expect(packages).not.toContain('@aws-sdk/client-dynamodb');
  });

  it('send-email loads nothing of Node that reads files or standard input, and so not the files of an AWS profile', async () => {
    const outdir = await mkdtemp(join(tmpdir(), 'cold-start-'));
    onTestFinished(() => rm(outdir, { recursive: true }));
    await build({ ...BUNDLE_OPTIONS, entryPoints: { index: 'functions/send-email/handler.ts' }, outdir });
    const program = ['--input-type=module', '--eval', LOADED, join(outdir, 'index.mjs')];
    const { stdout } = await promisify(execFile)(process.execPath, program, { env: EMAIL_ENV });
    const loaded = stdout.trim().split(',');
    expect(loaded).toContain('NativeModule https');
    expect(loaded.filter((name) => /\/(?:fs\/(?:promises|streams)|readline\/|process\/report)/.test(name))).toEqual([]);
  });

  it('a module of Node below one that has a stand-in stays itself', async () => {
    const names = builtinModules.filter((name) => /^(path|stream)\//.test(name)).map((name) => `node:${name}`);
    const contents = names.map((name) => `export * from '${name}';`).join('');
    const { outputFiles } = await build({ ...BUNDLE_OPTIONS, stdin: { contents }, outdir: 'never', write: false });
    expect(outputFiles[0]?.text.match(/(?<=from")node:[^"]+/g)).toEqual(names);
  });

  it('no first use loads a whole client: a module of ours takes the few commands that it needs', () => {
    expect(lazy).toContain('src/adapters/email/account-limits.ts');
    expect(lazy.filter((path) => path.includes('client-'))).toEqual([]);
  });

  it('no chunk begins with an import from outside the bundles: on Lambda there is no such package', () => {
    expect(imported).toEqual([]);
  });

  it('a package asks for nothing outside its bundle but modules of Node, which are all that its require knows', () => {
    expect(required).toContain('util');
    expect(required.filter((name) => !builtinModules.includes(name.replace(/^node:/, '')))).toEqual([]);
  });
});
