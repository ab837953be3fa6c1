import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sendJson, serve } from '../../../src/http/loopback-server.ts';
import { unusedPort } from '../../../src/local/processes/tcp-ports.ts';
import type { Teardown } from '../../../src/local/processes/teardown.ts';
import { OperatorError } from '../../../src/terminal/errors.ts';
import type { Mail, MailingSystem } from './mailings.ts';
import { find, startPostgres } from './servers.ts';

/** Threads that send; with the rate of each it is listmonk's default, as are its batches of 1,000 subscribers. */
const CONCURRENCY = 10;

interface Given {
  /** Directory of the checkout, with the binary `listmonk` in it. */
  readonly checkout: string;
  readonly home: string;
  readonly members: number;
  /** Mails per second. */
  readonly rate: number;
  readonly post: string;
}

/** listmonk on a PostgreSQL of its own. It posts each mail to a receiver on loopback: its "messenger". */
export async function listmonk(given: Given, teardown: Teardown): Promise<MailingSystem> {
  const { checkout, home, members, rate, post } = given;
  const cwd = resolve(checkout);
  const binary = join(cwd, 'listmonk');
  if (!existsSync(binary)) throw new OperatorError(`${binary} does not exist: docs/benchmarks.md says how to build it`);
  const postgres = await startPostgres(home);
  teardown.add('PostgreSQL', postgres.stop);
  let mails: Mail[] = [];
  const receiver = await serve(
    async (_, response, body) => {
      const { recipients }: { recipients: readonly { email: string }[] } = JSON.parse(body.toString());
      mails.push(...recipients.map(({ email }) => ({ to: email, at: Date.now() })));
      sendJson(response, 200, {});
    },
    0,
    'the receiver of listmonk',
  );
  teardown.add('receiver', () => receiver.close());

  const where = `host = "127.0.0.1"\nport = ${postgres.port}\nuser = "postgres"\ndatabase = "postgres"`;
  const pool = 'ssl_mode = "disable"\nmax_open = 25\nmax_idle = 25\nmax_lifetime = "300s"';
  const config = join(home, 'listmonk.toml');
  writeFileSync(config, `[app]\naddress = "127.0.0.1:${await unusedPort()}"\n[db]\n${where}\n${pool}\n`);
  execFileSync(binary, ['--config', config, '--install', '--yes'], { cwd, stdio: 'ignore' });
  const psql = (input: string) => {
    const connection = `postgres://postgres@127.0.0.1:${postgres.port}/postgres`;
    const options = ['-AtqX', '-v', 'ON_ERROR_STOP=1', connection];
    return execFileSync(find('psql', 'postgresql'), options, { input, encoding: 'utf8' }).trim();
  };
  psql(settingsOf(receiver.url, rate) + membersOf(members));

  const log = openSync(join(home, 'listmonk.log'), 'a', 0o600);
  const start = () => spawn(binary, ['--config', config], { cwd, stdio: ['ignore', log, log] });
  let worker: ChildProcess | undefined;
  const end = async () => {
    if (worker === undefined) return;
    const ended = once(worker, 'exit');
    worker.kill('SIGKILL');
    await ended;
    worker = undefined;
  };
  teardown.add('listmonk', end);
  return {
    name: 'listmonk',
    servers: () => [postgres.pid],
    workers: () => (worker?.pid === undefined ? [] : [worker.pid]),
    async order() {
      worker ??= start();
      mails = [];
      psql(campaignOf(post));
    },
    async kill() {
      await end();
      worker = start();
    },
    count: async () => mails.length,
    mails: async () => mails,
    async told() {
      const [status = '', sent = ''] = psql('SELECT status, sent FROM campaigns ORDER BY id DESC LIMIT 1').split('|');
      return { ended: status !== 'running', status, sent: Number(sent), uncertain: 0 };
    },
  };
}

const literal = (value: unknown) => `'${JSON.stringify(value).replaceAll("'", "''")}'`;

/** What differs from its defaults: it asks nobody for updates, and posts to the receiver. */
function settingsOf(root_url: string, rate: number): string {
  const messenger = { enabled: true, name: 'receiver', root_url, max_conns: 25, max_msg_retries: 2, timeout: '5s' };
  const settings = {
    'app.check_updates': false,
    'app.concurrency': CONCURRENCY,
    'app.message_rate': Math.ceil(rate / CONCURRENCY),
    messengers: [messenger],
  };
  const updates = Object.entries(settings).map(
    ([key, value]) => `UPDATE settings SET value = ${literal(value)} WHERE key = '${key}';`,
  );
  return updates.join('\n');
}

/** A list of its own: the installation has sample subscribers. */
const membersOf = (members: number) => `
  DELETE FROM subscribers;
  INSERT INTO subscribers (uuid, email, name)
    SELECT gen_random_uuid(), 'member.' || n || '@mail.example', 'Member ' || n FROM generate_series(1, ${members}) n;
  INSERT INTO lists (uuid, name, type) VALUES (gen_random_uuid(), 'Weekly', 'private');
  INSERT INTO subscriber_lists (subscriber_id, list_id, status)
    SELECT s.id, l.id, 'confirmed' FROM subscribers s, lists l WHERE l.name = 'Weekly';
`;

/** As its API does when somebody starts a campaign. */
const campaignOf = (post: string) => `
  WITH made AS (
    INSERT INTO campaigns (uuid, name, subject, from_email, body, content_type, messenger, template_id, status)
      SELECT gen_random_uuid(), 'Weekly', 'The week, {{ .Subscriber.FirstName }}', 'Weekly <news@example.com>',
        '${post.replaceAll("'", "''")}', 'markdown', 'receiver', id, 'running' FROM templates WHERE is_default
      RETURNING id
  )
  INSERT INTO campaign_lists (campaign_id, list_id, list_name)
    SELECT made.id, lists.id, lists.name FROM made, lists WHERE lists.name = 'Weekly';
`;
