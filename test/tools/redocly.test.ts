import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import apiDocument from '../../docs/reference/api.json' with { type: 'json' };
import { PROJECT_ROOT } from '../support/project-root.ts';
import { hasTool, NODE_TOOLS } from '../support/tools/tools.ts';

const REDOCLY = join(NODE_TOOLS, '@redocly', 'cli', 'bin', 'cli.js');

interface Finding {
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly pointer: string }[];
}

/** What Redocly's recommended rules have to say of a document, warnings included. */
async function lint(document: object): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'notification-retry-openapi-'));
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
  const args = [REDOCLY, 'lint', '--format=json', '--extends=recommended', 'openapi.json'];
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  // It ends with 1 if there is an error.
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env, maxBuffer: 2 ** 24 }).catch(
    (error: { stdout: string }) => error,
  );
  const { problems }: { problems: Finding[] } = JSON.parse(stdout);
  return problems.map(({ ruleId, message, location }) => `${ruleId} ${message} (${location[0]?.pointer})`);
}

describe.skipIf(!hasTool('Redocly', REDOCLY))('Redocly’s linter', { timeout: 60_000 }, () => {
  it('finds nothing wrong with the OpenAPI document', async () => expect(await lint(apiDocument)).toEqual([]));

  it('finds nothing wrong with the document of the console', async () => {
    const file = join(PROJECT_ROOT, 'docs', 'reference', 'console-api.json');
    expect(await lint(JSON.parse(readFileSync(file, 'utf8')))).toEqual([]);
  });

  it('finds a fault that is there', async () => {
    const { license: _, ...info } = apiDocument.info;
    expect(await lint({ ...apiDocument, info })).toEqual([expect.stringMatching(/^info-license /)]);
  });
});
