import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Deployment, deployOnEmulator, MINUTES } from '../support/emulator/deploy.ts';

/** As of `prod` in cdk.json: it keeps its data, watches everything, and has a console. */
const LIKE_PROD = {
  retain: 'true',
  monitoring: 'full',
  logRetentionDays: '365',
  console: JSON.stringify({ issuer: 'https://issuer.your-domain.example', clientId: 'console' }),
};

/** Opt-in by `npm run test:emulator`. */
describe.each([
  { name: 'dev', context: {}, retains: false },
  { name: 'prod', context: LIKE_PROD, retains: true },
])('a stage like $name on another AWS emulator', { timeout: 6 * MINUTES }, ({ context, retains }) => {
  let deployed: Deployment;
  beforeAll(async () => {
    deployed = await deployOnEmulator({ enforceIam: false, context, issuer: 'https://issuer.your-domain.example' });
  }, 10 * MINUTES);
  afterAll(() => deployed?.emulator.stop(), MINUTES);

  const preflight = async (...options: string[]) => {
    const said = await deployed.stack.npm('ops', ['preflight', '--json', ...options]).catch(({ message }) => message);
    return JSON.parse(/\{"findings".*\}/.exec(said)?.[0] ?? '{}').findings;
  };
  const leftovers = async (): Promise<{ what: string; remove: string }[]> =>
    JSON.parse(await deployed.stack.npm('ops', ['leftovers', '--json'])).leftovers;
  const tables = async () => JSON.parse(await deployed.stack.aws(['dynamodb', 'list-tables'])).TableNames;

  it('changes nothing by a second deployment', async () => {
    const before = await tables();
    expect(await deployed.stack.deploy(deployed.assembly)).toContain('(no changes)');
    expect(await tables()).toEqual(before);
    expect(await preflight()).toContainEqual(expect.objectContaining({ check: 'stack', state: 'ok' }));
  });

  it(`is destroyed ${retains ? 'and leaves its tables, which ops lists with how to remove them' : 'with all its data'}`, async () => {
    const before = await tables();
    const { stack, assembly } = deployed;
    if (retains) {
      const unprotect = ['cloudformation', 'update-termination-protection', '--no-enable-termination-protection'];
      await stack.aws([...unprotect, '--stack-name', 'notification-retry-dev']);
    }
    await stack.destroy(assembly);
    expect(await tables()).toEqual(retains ? before : []);
    const left = await leftovers();
    for (const name of retains ? before : []) {
      const remove = expect.stringContaining(`delete-table --table-name ${name}`);
      expect(left).toContainEqual({ what: `The table ${name}.`, remove });
    }
    if (!retains) expect(left).toEqual([]);
    for (const line of left
      .filter(({ what }) => !what.startsWith('The log group'))
      .flatMap(({ remove }) => remove.split('; '))) {
      await stack.aws(line.split(' ').slice(1));
    }
    expect(await tables()).toEqual([]);
    expect((await leftovers()).filter(({ what }) => /table|secret/.test(what))).toEqual([]);
  });

  it('is deployed again, and its sweep runs', async () => {
    const { stack, assembly } = deployed;
    await stack.deploy(assembly);
    expect(await stack.invoke('dispatcher', { dry_run: true })).not.toHaveProperty('FunctionError');
  });
});
