import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import apiDocument from '../../docs/reference/api.json' with { type: 'json' };
import consoleDocument from '../../docs/reference/console-api.json' with { type: 'json' };
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';
import { hasTool, PYTHON_COMMANDS } from '../support/tools/tools.ts';

const SCHEMATHESIS = join(PYTHON_COMMANDS, 'schemathesis');
const MINUTE = 60_000;
/** Inputs drawn per operation, beside those that cover each constraint of its schema. */
const EXAMPLES = process.env['FUZZ_EXAMPLES'] ?? '15';
/** The same every time, so that a landing fails by its own change; FUZZ_SEED=random draws others. */
const ASKED = process.env['FUZZ_SEED'] ?? '1';
const SEED = ASKED === 'random' ? String(randomInt(2 ** 31)) : ASKED;
/** No answer is a 5xx, and each has a status, headers and a body that the document knows. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];
/** The tenant of the newsletter client. */
const TENANT = 'T951';

describe.skipIf(!hasTool('Schemathesis', SCHEMATHESIS))(
  'requests that Schemathesis makes up',
  { timeout: 10 * MINUTE },
  () => {
    const flow = new Flow();
    const folder = mkdtempSync(join(tmpdir(), 'notification-retry-fuzz-'));
    let authorization: string;
    /** Values that lead somewhere, for parameters that hold an id; others are made up. */
    let known: Readonly<Record<string, readonly string[]>>;

    beforeAll(async () => {
      await flow.start({ baseIntervalSeconds: 0.5 });
      const scopes = ['send', 'read', 'operate', 'newsletters:read', 'newsletters:write'];
      const rights = ['--rate-limit', '1000', ...scopes.flatMap((scope) => ['--scope', scope])];
      const { key, key_id } = await flow.opsJson<{ key: string; key_id: string }>(
        ...['keys', 'create', '--tenant', TENANT, ...rights],
      );
      authorization = `Bearer ${key}`;
      const log_id = await notifications();
      const email_id = await newsletters();
      known = { log_id, email_id, key_id: [key_id, 'K1'], member_id: ['m-0', 'm-1'], newsletter_id: ['weekly'] };
    }, 4 * MINUTE);
    afterAll(async () => {
      await flow.end();
      rmSync(folder, { recursive: true, force: true });
    });

    /** One that is delivered, one that is dead and one that waits. */
    async function notifications(): Promise<string[]> {
      const { simulator } = flow.endpoints.endpoints;
      const row = (log_id: string, path: string, changes: object = {}) => ({
        log_id,
        tenant_id: TENANT,
        notification_type: 'WEBHOOK',
        notification_id: 'N1',
        message_body: 'text',
        recipient_address: `${simulator}${path}`,
        send_status: 'FAILED',
        send_attempts: 1,
        ...changes,
      });
      await flow.put([
        row('f-delivered', '/webhook/ok/1'),
        row('f-dead', '/webhook/flaky-1/1', { max_retry_count: 0, send_status: 'PENDING', send_attempts: 0 }),
        row('f-waiting', '/webhook/ok/2', { next_retry_at: new Date(Date.now() + 60 * MINUTE).toISOString() }),
      ]);
      await eventually(
        async () => ((await flow.row('f-waiting'))['work_queue'] === undefined ? undefined : true),
        MINUTE,
      );
      await flow.job('--wait');
      return ['f-delivered', 'f-dead', 'f-waiting'];
    }

    /** One that is sent and one that is scheduled. */
    async function newsletters(): Promise<string[]> {
      const client = new NewsletterClient(flow);
      await client.setUp([{ email: 'reader+0@example.com' }, { email: 'reader+1@example.com', name: 'Reader' }]);
      const sent = await client.publish({ subject: 'Now', body: 'Hello' });
      const scheduled_at = new Date(Date.now() + 60 * MINUTE).toISOString();
      return [sent, await client.publish({ subject: 'Later', body: 'Hello', scheduled_at })];
    }

    async function fuzz(document: object, url: string, headers: readonly string[], options: readonly string[] = []) {
      const file = join(folder, 'openapi.json');
      writeFileSync(file, JSON.stringify(document));
      const names = Object.keys(known);
      const dictionaries = names.map((name) => `[dictionaries.${name}]\nvalues = ${JSON.stringify(known[name])}\n`);
      const bound = names.map((name) => `"path.${name}" = { dictionary = "${name}", probability = 0.7 }\n`);
      const config = join(folder, 'schemathesis.toml');
      writeFileSync(config, `${dictionaries.join('')}[parameters]\n${bound.join('')}`);
      const args = ['--no-color', '--config-file', config, 'run', file, '--url', url, '--seed', SEED];
      const phases = ['--phases', 'coverage,fuzzing', '--max-examples', EXAMPLES, '--checks', CHECKS.join()];
      const given = headers.flatMap((header) => ['-H', header]);
      const run = promisify(execFile)(
        SCHEMATHESIS,
        [...args, ...phases, '--continue-on-failure', '--warnings', 'off', ...given, ...options],
        { cwd: folder, maxBuffer: 2 ** 26 },
      );
      // It ends with 1 when an answer failed a check.
      return run.then(
        ({ stdout }) => ({ said: stdout, failures: '' }),
        ({ stdout, stderr }) => ({
          said: stdout,
          failures: `${String(stdout).slice(stdout.indexOf('= FAILURES ='))}${stderr}`,
        }),
      );
    }

    // The first one: what others make up may take away what it asks for.
    it('show an answer that a document does not know', async () => {
      const { responses, ...operation } = apiDocument.paths['/v1/newsletters/{newsletter_id}'].get;
      const { '200': _, ...others } = responses;
      const paths = { '/v1/newsletters/{newsletter_id}': { get: { ...operation, responses: others } } };
      const { failures } = await fuzz({ ...apiDocument, paths }, flow.endpoints.endpoints.api, [
        `Authorization: ${authorization}`,
      ]);
      expect(failures).toContain('Undocumented status code');
    });

    it('are answered by the API as its document says, and never by a fault of ours', async () => {
      const { said, failures } = await fuzz(apiDocument, flow.endpoints.endpoints.api, [
        `Authorization: ${authorization}`,
      ]);
      expect(failures).toBe('');
      expect(said).toContain(`Tested: ${operationsIn(apiDocument)}`);
    });

    it('are answered by the console as its document says, and never by a fault of ours', async () => {
      const { console: page } = flow.endpoints.endpoints;
      const { said, failures } = await fuzz(consoleDocument, page, [`Origin: ${page}`]);
      expect(failures).toBe('');
      expect(said).toContain(`Tested: ${operationsIn(consoleDocument)}`);
    });
  },
);

function operationsIn({ paths }: { readonly paths: object }): number {
  return Object.values(paths).reduce((sum: number, path: object) => sum + methodsOf(path).length, 0);
}

function methodsOf(path: object): string[] {
  return Object.keys(path).filter((name) => ['get', 'post', 'put', 'delete'].includes(name));
}
