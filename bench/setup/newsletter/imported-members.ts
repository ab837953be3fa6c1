import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { prepareSecrets } from '../../../src/local/runtime/secrets-file.ts';
import type { BenchContext } from '../../benchmark.ts';
import { deployedFunctions } from '../deployed-functions.ts';
import { importTable } from '../imported-table.ts';
import { type Audience, audienceOf } from './audience.ts';
import { newsletterNames } from './newsletter-stack.ts';

export interface ImportedMembers {
  /** Holds the table of members for the stand-in, and the secrets that they were sealed with. */
  readonly directory: string;
  readonly secretsFile: string;
  readonly storeKeys: Audience['storeKeys'];
}

/** Makes a data directory with many members: putting them one by one would take minutes. */
export async function importMembers(
  { home, stack, step }: BenchContext,
  name: string,
  count: number,
): Promise<ImportedMembers> {
  step(`${name}: ${count.toLocaleString('en')} members are made`);
  const directory = join(home, name);
  mkdirSync(directory, { recursive: true });
  const secretsFile = join(directory, 'secrets.json');
  prepareSecrets(secretsFile, 'http://127.0.0.1:9');
  const { plan, planOf } = deployedFunctions(stack);
  const { members } = newsletterNames(planOf('newsletter-prepare'));
  const table = plan.tables.find(({ TableName }) => TableName === members);
  if (table === undefined) throw new Error(`The stack has no table ${members}`);
  const audience = audienceOf(count, secretsFile);
  await importTable(directory, table, audience.items());
  return { directory, secretsFile, storeKeys: audience.storeKeys };
}
