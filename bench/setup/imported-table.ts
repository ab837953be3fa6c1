import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import type { Item } from '../../src/adapters/dynamodb/table/item.ts';

/**
 * Makes a data directory with one large table for the stand-in. A million rows take 15 minutes to put over HTTP, and
 * half a minute to import as a DynamoDB export.
 * @throws Error when dynoxide is not installed on this platform, or with dynoxide's output
 */
export async function importTable(
  directory: string,
  table: CreateTableCommandInput,
  items: Iterable<Item> | AsyncIterable<Item>,
): Promise<void> {
  const source = join(directory, 'export');
  const data = join(source, table.TableName ?? '', 'data');
  mkdirSync(data, { recursive: true });
  await pipeline(Readable.from(lines(items)), createGzip({ level: 1 }), createWriteStream(join(data, 'rows.json.gz')));
  const schema = join(directory, 'schema.json');
  writeFileSync(schema, JSON.stringify({ Table: table }));
  const output = join(directory, 'dynamodb.sqlite');
  await runDynoxide(['import', '--source', source, '--schema', schema, '--output', output]);
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

async function runDynoxide(args: readonly string[]): Promise<void> {
  const child = spawn(dynoxide(), args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = () => child.kill('SIGKILL');
  process.once('exit', stop);
  let output = '';
  const collect = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-2_000);
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  process.removeListener('exit', stop);
  if (code !== 0) throw new Error(`dynoxide import ended with exit code ${code}: ${output.trim()}`);
}

function dynoxide(): string {
  const name = `@dynoxide/${process.platform}-${process.arch}`;
  try {
    return join(createRequire(import.meta.url).resolve(`${name}/package.json`), '..', 'dynoxide');
  } catch (cause) {
    throw new Error(
      `This benchmark needs dynoxide, which is not installed: run npm ci without --omit=optional, if ${name} exists`,
      {
        cause,
      },
    );
  }
}
