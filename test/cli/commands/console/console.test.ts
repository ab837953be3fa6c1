import { userInfo } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Operations, startOperations } from '../../../support/cli/operations.ts';
import { recordingTerminal } from '../../../support/cli/recording-terminal.ts';

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
}, 60_000);
afterAll(() => ops?.stop());

/** Runs the command, and ends it when `work` has used its console. */
async function using<T>(args: readonly string[], work: (printed: string) => Promise<T>) {
  const { terminal, written } = recordingTerminal({});
  const worked: T[] = [];
  const stopped = async () => {
    worked.push(await work(written.out));
  };
  const { code } = await ops.run(['console', '--local', ...args], { terminal, stopped });
  return { code, worked: worked[0], ...written };
}

const tokenOf = (url: string) => new URLSearchParams(new URL(url).hash.slice(1)).get('token') ?? '';
const session = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(new URL('/api/session', url), { headers });

describe('ops console', () => {
  it('prints the address with its token as JSON, serves the page there, and ends with the command', async () => {
    const { code, out, worked } = await using(['--json'], async (printed) => {
      const { url } = JSON.parse(printed) as { url: string };
      const page = await fetch(url);
      const authorization = `Bearer ${tokenOf(url)}`;
      return {
        url,
        html: await page.text(),
        without: (await session(url)).status,
        session: await (await session(url, { authorization })).json(),
      };
    });
    expect(code).toBe(0);
    expect(Object.keys(JSON.parse(out))).toEqual(['url']);
    expect(worked).toMatchObject({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}$/),
      html: expect.stringContaining('<title>'),
      without: 401,
      session: { who: userInfo().username, role: 'operator', stage: 'local', local: true },
    });
    await expect(session(worked?.url ?? '')).rejects.toThrow();
  }, 60_000);

  it('prints the address alone on stdout, and tells the person beside it how to end', async () => {
    const { out, err } = await using([], async () => undefined);
    expect(out).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]+\n$/);
    expect(err).toContain('Ctrl-C');
  }, 60_000);

  it('takes a port, and says so when it is taken', async () => {
    const { worked, code } = await using(['--json'], async (printed) => {
      const { port } = new URL((JSON.parse(printed) as { url: string }).url);
      return ops.run(['console', '--local', '--port', port]);
    });
    expect(code).toBe(0);
    expect([worked?.code, worked?.err]).not.toContain(0);
    expect(worked?.err).toMatch(/port|EADDRINUSE/i);
  }, 60_000);

  it('goes on with an operation that another process left', async () => {
    await using(['--json'], async (printed) => {
      const { url } = JSON.parse(printed) as { url: string };
      const headers = { authorization: `Bearer ${tokenOf(url)}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ request_id: 'request-1', kind: 'redrive', filter: {} });
      const made = await fetch(new URL('/api/operations', url), { method: 'POST', headers, body });
      expect(made.status).toBe(200);
    });
    const { worked } = await using(['--json'], async (printed) => {
      const { url } = JSON.parse(printed) as { url: string };
      const authorization = `Bearer ${tokenOf(url)}`;
      for (;;) {
        const list = await fetch(new URL('/api/operations', url), { headers: { authorization } });
        const { operations } = (await list.json()) as { operations: readonly { status: string }[] };
        if (operations[0]?.status !== 'previewing') return operations[0]?.status;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    });
    expect(worked).toBe('ready');
  }, 60_000);
});
