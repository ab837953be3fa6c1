import { execFile } from 'node:child_process';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import type { Item } from '../../src/adapters/dynamodb/table/item.ts';
import type { BenchContext } from '../benchmark.ts';
import { deployedFunctions } from './function.ts';

/** Makes a data directory with one large table for the stand-in. @returns the directory */
export async function importTable(
  { home, stack }: BenchContext,
  name: string,
  tableName: string,
  items: Iterable<Item> | AsyncIterable<Item>,
): Promise<string> {
  const directory = join(home, name);
  const Table = deployedFunctions(stack).plan.tables.find(({ TableName }) => TableName === tableName);
  await importItems(directory, { ...Table, TableName: tableName }, items);
  return directory;
}

/**
 * Makes `dynamodb.sqlite` with one table in a data directory. A million rows take 15 minutes to put over HTTP, and half a
 * minute to import as a DynamoDB export.
 * @param table as DescribeTable or CreateTable has it
 * @throws Error when dynoxide is not installed on this platform, or with dynoxide's output
 */
export async function importItems(
  directory: string,
  table: { readonly TableName: string },
  items: Iterable<Item> | AsyncIterable<Item>,
): Promise<void> {
  const source = join(directory, 'export');
  const data = join(source, table.TableName, 'data');
  mkdirSync(data, { recursive: true });
  await pipeline(Readable.from(lines(items)), createGzip({ level: 1 }), createWriteStream(join(data, 'rows.json.gz')));
  const schema = join(directory, 'schema.json');
  writeFileSync(schema, JSON.stringify({ Table: table }));
  const output = join(directory, 'dynamodb.sqlite');
  const args = ['import', '--source', source, '--schema', schema, '--output', output];
  await promisify(execFile)(dynoxide(), args, { maxBuffer: 100_000_000 });
}

const CHUNK = 5_000;

async function* lines(items: Iterable<Item> | AsyncIterable<Item>): AsyncGenerator<string> {
  let chunk: string[] = [];
  for await (const item of items) {
    chunk.push(JSON.stringify({ Item: item }));
    if (chunk.length < CHUNK) continue;
    yield `${chunk.join('\n')}\n`;
    chunk = [];
  }
  yield `${chunk.join('\n')}\n`;
}

function dynoxide(): string {
  const name = `@dynoxide/${process.platform}-${process.arch}`;
  try {
    return join(createRequire(import.meta.url).resolve(`${name}/package.json`), '..', 'dynoxide');
  } catch (cause) {
    const missing = `This benchmark needs dynoxide: run npm ci without --omit=optional, if ${name} exists`;
    throw new Error(missing, { cause });
  }
}
