import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TargetRefusedError } from '../../../src/adapters/http/network-classification.ts';
import { createTargetGuard, createTargetPoster, isPublicAddress } from '../../../src/adapters/http/target.ts';
import { NEVER } from '../../support/delivery.ts';
import { type Loopback, startLoopback } from '../../support/loopback.ts';

const guard = createTargetGuard();
const message = { headers: {}, body: '{}' };

describe('a target URL', () => {
  it.each([
    'https://hooks.example.com/in?x=1',
    'https://93.184.215.14/in',
    'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443/in',
    ' https://hooks.example.com ',
  ])('passes as %s', (url) => expect(guard.check(url).protocol).toBe('https:'));

  it.each([
    ['http://hooks.example.com/in', /scheme must be https/],
    ['ftp://hooks.example.com/in', /scheme must be https/],
    ['file:///etc/passwd', /scheme must be https/],
    ['hooks.example.com/in', /not a URL/],
    ['#alerts', /not a URL/],
    ['https://user@hooks.example.com/', /user name or password/],
    ['https://user:secret@hooks.example.com/', /user name or password/],
    ['https://:secret@hooks.example.com/', /user name or password/],
  ])('is refused as %s', (url, reason) => expect(() => guard.check(url)).toThrow(reason));

  it.each([
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://0x7f000001/',
    'https://017700000001/',
    'https://127.1/',
    'https://0/',
    'https://10.1.2.3/',
    'https://172.31.255.255/',
    'https://192.168.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://169.254.170.2/v2/credentials',
    'https://168.63.129.16/metadata',
    'https://[::ffff:168.63.129.16]/',
    'https://100.100.100.200/latest/meta-data/',
    'https://192.0.0.192/opc/v2/',
    'https://100.64.0.1/',
    'https://192.0.0.8/',
    'https://198.18.0.1/',
    'https://203.0.113.7/',
    'https://224.0.0.1/',
    'https://255.255.255.255/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:a00:1]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::127.0.0.1]/',
    'https://[64:ff9b:1::a00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
    'https://[fc00::1]/',
    'https://[fd00:ec2::254]/',
    'https://[fd20:ce::254]/',
    'https://[fe80::1]/',
    'https://[fec0::1]/',
    'https://[ff02::1]/',
    'https://[2001:db8::1]/',
    'https://[100::1]/',
    'https://①②⑦.⓪.⓪.①/',
  ])('is refused for the private or reserved address in %s', (url) => {
    expect(() => guard.check(url)).toThrow(TargetRefusedError);
  });

  it('is never quoted in the refusal', () => {
    expect(() => guard.check('https://token:hunter2@10.1.2.3/secret-path')).toThrow(/^(?!.*(hunter2|10\.1|secret)).*$/);
  });

  it.each(['https://hooks.example.com:22/', 'https://hooks.example.com:8443/', 'https://93.184.215.14:80/'])(
    'is refused for its port as %s, unless that port is allowed',
    (url) => {
      const { port } = new URL(url);
      expect(() => guard.check(url)).toThrow(`its port must be 443`);
      expect(() => guard.check(url, [1])).toThrow(`its port must be 443 or 1`);
      expect(guard.check(url, [1, Number(port)]).port).toBe(port);
      expect(createTargetGuard({ ports: [Number(port)] }).check(url).port).toBe(port);
      expect(createTargetGuard({ ports: [9] }).check(url, [Number(port)]).port).toBe(port);
    },
  );

  it('may use port 443 whatever else is allowed', () => {
    expect(createTargetGuard({ ports: [8443] }).check('https://hooks.example.com:443/').port).toBe('');
  });

  it('may be local and unencrypted if private targets are allowed', () => {
    expect(createTargetGuard({ allowPrivateTargets: true }).check('http://127.0.0.1:8080/in').port).toBe('8080');
  });
});

describe('an address', () => {
  it.each([
    ['8.8.8.8', true],
    ['::ffff:8.8.8.8', true],
    ['2606:4700::1111', true],
    ['::ffff:10.0.0.1', false],
    ['168.63.129.16', false],
    ['168.63.129.15', true],
    ['168.63.129.17', true],
    ['::808:808', false],
    ['4000::1', false],
    ['2606:4700::1111%eth0', false],
    ['not an address', false],
    ['', false],
  ])('%s is public: %s', (address, expected) => expect(isPublicAddress(address)).toBe(expected));

  it('is public where ipaddr.js finds it in no reserved range', () => {
    const seen = { true: 0, false: 0 };
    const v4 = fc.oneof(
      fc.ipV4(),
      fc.tuple(fc.constantFrom(...EDGES), fc.nat(255), fc.nat(255)).map((all) => all.join('.')),
    );
    const v6 = fc
      .tuple(
        fc.constantFrom('2001', '2002', '2606', '2620', '3fff', '3ffe', '1fff', '4000', 'fd00', 'fe80', '64'),
        fc.nat(65_535),
      )
      .map(([first, next]) => `${first}:${next.toString(16)}:8000::1`);
    fc.assert(
      fc.property(
        fc.oneof(
          v4,
          fc.ipV6(),
          v6,
          v4.map((address) => `::ffff:${address}`),
        ),
        (address) => {
          // It takes an IPv4-compatible address (`::1.2.3.4`), which is not assigned, for a mapped one.
          fc.pre(!/^::\d+\./.test(address));
          const parsed = ipaddr.process(address);
          const assigned = parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(ipaddr.IPv6.parseCIDR('2000::/3'));
          const expected = assigned && parsed.range() === 'unicast' && parsed.toString() !== '168.63.129.16';
          expect(isPublicAddress(address), address).toBe(expected);
          seen[`${expected}`] += 1;
        },
      ),
      { numRuns: 5_000 },
    );
    expect(Math.min(seen.true, seen.false)).toBeGreaterThan(500);
  });
});

/** The first halves of addresses in which something is reserved, and their neighbours. */
const EDGES = [
  ...[
    '0.1',
    '9.255',
    '10.0',
    '100.63',
    '100.64',
    '100.127',
    '100.128',
    '127.0',
    '168.63',
    '169.254',
    '172.15',
    '172.16',
  ],
  ...[
    '172.31',
    '172.32',
    '192.0',
    '192.31',
    '192.52',
    '192.88',
    '192.168',
    '192.175',
    '198.17',
    '198.18',
    '198.19',
    '198.20',
  ],
  ...['198.51', '203.0', '223.255', '224.0', '239.255', '240.0', '255.255'],
];

describe('a host name', () => {
  let server: Loopback;
  beforeEach(async () => {
    server = await startLoopback();
  });
  afterEach(() => server.close());

  const port = () => new URL(server.url).port;
  const ports = () => [Number(port())];

  it.each([[['127.0.0.1']], [['10.0.0.1']], [['::1']], [['8.8.8.8', '192.168.1.1']], [[]]])(
    'is refused when it leads to %j',
    async (addresses) => {
      const resolve = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      const poster = createTargetPoster({ resolve, ports: ports() });
      await expect(poster.post(`https://rebind.example:${port()}/`, message, NEVER)).rejects.toMatchObject({
        name: 'NetworkFault',
        code: 'TARGET_REFUSED',
      });
      expect(server.received).toHaveLength(0);
    },
  );

  it('is resolved only by the connection, so no second resolution can give another address', async () => {
    const answers = ['192.0.2.1', '127.0.0.1'];
    let asked = 0;
    const resolve = async () => [{ address: answers[asked++] ?? '127.0.0.1', family: 4 }];
    const poster = createTargetPoster({ resolve, ports: ports() });
    await expect(poster.post(`https://rebind.example:${port()}/`, message, NEVER)).rejects.toMatchObject({
      code: 'TARGET_REFUSED',
    });
    expect({ asked, received: server.received.length }).toEqual({ asked: 1, received: 0 });
  });

  it('is connected to at the address that was checked, whatever the system resolver would return', async () => {
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const poster = createTargetPoster({ resolve, allowPrivateTargets: true });
    const answer = await poster.post(`http://does-not-exist.invalid:${port()}/in`, message, NEVER);
    expect(answer.status).toBe(204);
    expect(server.received[0]?.headers.host).toBe(`does-not-exist.invalid:${port()}`);
    poster.close();
  });

  it('is refused as localhost with the system resolver', async () => {
    const poster = createTargetPoster({ ports: ports() });
    await expect(poster.post(`https://localhost:${port()}/`, message, NEVER)).rejects.toMatchObject({
      name: 'NetworkFault',
      code: 'TARGET_REFUSED',
    });
  });

  const looked = (addresses: readonly string[], all: boolean) => {
    const resolve = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    return new Promise((done) => {
      createTargetGuard({ resolve }).lookup('public.example', { all }, (...given) => done(given));
    });
  };

  it('that leads to public addresses only is resolved to exactly these', async () => {
    const both = ['93.184.215.14', '2606:4700::1111'];
    expect(await looked(both, true)).toEqual([
      null,
      [
        { address: '93.184.215.14', family: 4 },
        { address: '2606:4700::1111', family: 6 },
      ],
    ]);
    expect(await looked(both, false)).toEqual([null, '93.184.215.14', 4]);
    expect(await looked(['2606:4700::1111'], false)).toEqual([null, '2606:4700::1111', 6]);
  });

  it('is resolved once for all posts that ask at the same time, and anew for the next', async () => {
    const asked: string[] = [];
    const { lookup } = createTargetGuard({
      resolve: async (name) => {
        asked.push(name);
        return [{ address: '93.184.215.14', family: 4 }];
      },
    });
    const look = (name: string) => new Promise((done) => lookup(name, { all: false }, (_, address) => done(address)));
    const batch = Array.from({ length: 25 }, (_, i) => look(i === 9 ? 'other.example' : 'public.example'));
    expect(new Set(await Promise.all(batch))).toEqual(new Set(['93.184.215.14']));
    expect(asked).toEqual(['public.example', 'other.example']);
    await look('public.example');
    expect(asked).toHaveLength(3);
  });

  it.each(['10.0.0.1', '168.63.129.16', 'fd00:ec2::254'])('that leads to %s, too, is not resolved', async (address) => {
    for (const all of [true, false]) {
      const [fault, given] = (await looked(['93.184.215.14', address], all)) as [Error, unknown];
      expect(fault).toBeInstanceOf(TargetRefusedError);
      expect(given).toBe('');
    }
  });

  it.each(['ENOTFOUND', 'EAI_AGAIN'])(
    'that the resolver answers with %s is a fault of the network, not a refusal',
    async (code) => {
      const resolve = () => Promise.reject(Object.assign(new Error(`getaddrinfo ${code} secret.example`), { code }));
      const fault = await createTargetPoster({ resolve })
        .post('https://secret.example/', message, NEVER)
        .catch((error) => error);
      expect(fault).toMatchObject({ name: 'NetworkFault', code });
      expect(fault.message).not.toContain('secret');
    },
  );
});
