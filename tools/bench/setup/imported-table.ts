import { execFile } from 'node:child_process';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import type { Item } from '../../../src/adapters/dynamodb/table/item.ts';
import { dynoxideBinary } from '../../../src/local/stand-ins/dynamodb.ts';
import type { BenchContext } from '../benchmark.ts';
import { deployedFunctions } from './function.ts';

type Items = Iterable<Item> | AsyncIterable<Item>;

/** Makes a data directory with one large table for the stand-in. @returns the directory */
export async function importTable({ home, stack }: BenchContext, name: string, tableName: string, items: Items) {
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
export async function importItems(directory: string, table: { readonly TableName: string }, items: Items) {
  const source = join(directory, 'export');
  const data = join(source, table.TableName, 'data');
  mkdirSync(data, { recursive: true });
  await pipeline(Readable.from(lines(items)), createGzip({ level: 1 }), createWriteStream(join(data, 'rows.json.gz')));
  const schema = join(directory, 'schema.json');
  writeFileSync(schema, JSON.stringify({ Table: table }));
  const output = join(directory, 'dynamodb.sqlite');
  const args = ['import', '--source', source, '--schema', schema, '--output', output];
  const binary = dynoxideBinary();
  if (binary === undefined) throw new Error('This needs dynoxide: run npm ci without --omit=optional, where it exists');
  await promisify(execFile)(binary, args, { maxBuffer: 100_000_000 });
}

/** Bytes that are compressed at once. */
const CHUNK = 1_000_000;

async function* lines(items: Items): AsyncGenerator<string> {
  let text = '';
  for await (const item of items) {
    text += `${JSON.stringify({ Item: item })}\n`;
    if (text.length < CHUNK) continue;
    yield text;
    text = '';
  }
  yield text;
}
