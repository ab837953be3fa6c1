import { createHash } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adaptTemplate } from './adapt-template.ts';
import { outputOf } from './run-command.ts';

/**
 * Synthesizes the stack `notification-retry-dev`, unless `app` says another, as `npx cdk synth` does, and adapts its template to the emulator.
 * @param context values of the stage's configuration, as after `-c notification-retry.` on the command line
 * @param issuer who signs the tokens of the console's users; none without the console
 * @param app options of `cdk synth` that name another app
 * @returns the cloud assembly's directory, to deploy with `cdk deploy --app`
 */
export async function synthesizeForEmulator(
  context: Readonly<Record<string, string>> = {},
  issuer = '',
  app: readonly string[] = [],
): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'notification-retry-assembly-'));
  const values = Object.entries(context).flatMap(([key, value]) => ['-c', `notification-retry.${key}=${value}`]);
  const env = { PATH: process.env['PATH'] ?? '', HOME: directory, JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION: '1' };
  await outputOf('npx', ['cdk', 'synth', '--quiet', '--output', directory, ...values, ...app], env);
  adapt(directory, issuer);
  return directory;
}

/** CDK names a template by its content's hash. The adapted one gets its own, so that it is published. */
function adapt(directory: string, issuer: string): void {
  const [name] = globSync('*.template.json', { cwd: directory });
  if (name === undefined) throw new Error(`there is no template in ${directory}`);
  const file = join(directory, name);
  const before = readFileSync(file, 'utf8');
  const after = JSON.stringify(adaptTemplate(JSON.parse(before), issuer), null, 1);
  writeFileSync(file, after);
  for (const path of globSync(['*.assets.json', 'manifest.json'], { cwd: directory })) {
    const text = readFileSync(join(directory, path), 'utf8');
    writeFileSync(join(directory, path), text.replaceAll(hashOf(before), hashOf(after)));
  }
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
