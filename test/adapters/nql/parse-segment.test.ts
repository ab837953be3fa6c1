import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSegment } from '../../../src/adapters/nql/parse-segment.ts';
import { segmentMatcher } from '../../../src/core/newsletter/audience/segment.ts';
import type { SegmentSubject } from '../../../src/core/newsletter/model/member.ts';

const AT = new Date('2026-03-31T12:00:00.000Z');
const MEMBER: SegmentSubject = {
  member_id: 'M-007',
  status: 'paid',
  labels: ['vip', '大阪 店', '007', 'a'],
  newsletters: ['weekly'],
  created_at: '2026-02-28T12:00:00.000Z',
};

const matches = async (segment: string | undefined, member = MEMBER, at = AT) =>
  segmentMatcher(await parseSegment(segment), at)(member);

describe('a segment', () => {
  it.each<[string | undefined, boolean]>([
    [undefined, true],
    ['all', true],
    ['status:paid', true],
    ['status:-paid', false],
    ['status:free', false],
    ['status:[free,paid]', true],
    ['status:-[free,paid]', false],
    ['label:vip', true],
    ['labels:vip', true],
    ['label:VIP', false],
    ['label:-vip', false],
    ['label:-gold', true],
    ['label:[gold,vip]', true],
    ["label:'大阪 店'", true],
    ["label:'007'", true],
    ["label:'7'", false],
    ["label:'a'", true],
    ['newsletters:weekly', true],
    ['newsletter:-weekly', false],
    ["member_id:'M-007'", true],
    ["member_id:~^'m-'", true],
    ["member_id:~$'07'", true],
    ["member_id:-~'-0'", false],
    ["label:~'I'", true],
    ["label:~'.'", false],
    ['label:vip+status:-free', true],
    ['label:gold,status:paid', true],
    ['(label:gold,status:free)+newsletters:weekly', false],
    ['((label:gold,status:free))+newsletters:weekly', false],
    ["created_at:>'2026-01-01'", true],
    ["created_at:<='2026-02-28T12:00:00Z'", true],
    ["created_at:<'2026-02-28T21:00:00+09:00'", false],
    ['created_at:>now-30d', false],
    ['created_at:>now-32d', true],
    ['created_at:>=now-1M', true],
    ['created_at:>now-1M', false],
    ['created_at:<now+1y', true],
  ])('%s matches: %s', async (segment, expected) => expect(await matches(segment)).toBe(expected));

  it.each<[string, RegExp]>([
    ['', /ends too early.*it is NQL, such as status:paid/],
    ['status:paid+', /ends too early/],
    ['(status:paid', /ends too early/],
    ['paid', /cannot be read from "paid" on/],
    ['status:(paid', /cannot be read from "\(paid" on/],
    ['status:=free', /cannot be read from "=free" on/],
    ['label:[a,b]', /from "a,b\]" on.*single letters/],
    ["label:'a long first value'+status:paid label:vip", /from "label:vip" on/],
    ["status:paid label:'a text of many more letters'", /from "label:'a text of [a-z ]*…" on/],
    [
      'colour:red',
      /cannot ask for "colour": the fields of a member are status, labels, newsletters, member_id, created_at/,
    ],
    ['email:x', /cannot ask for "email"/],
    ['__proto__:x', /cannot ask for "__proto__"/],
    ["constructor:'x'", /cannot ask for "constructor"/],
    ['status:PAID', /no status "PAID": it is free, paid, comped/],
    ['status:[paid,gold]', /no status "gold"/],
    ['label:007', /label is a text: write the value in quotes/],
    ['label:null', /in quotes/],
    ['label:true', /in quotes/],
    ['label:>vip', /label has no order/],
    ['label:>now-1d', /label has no order/],
    ['label:now-1d', /label is no time/],
    ["created_at:'2026-01-01'", /created_at is compared with >/],
    ['created_at:-now-1d', /created_at is compared with >/],
    ['created_at:>yesterday', /created_at needs a time/],
    ["created_at:>'2026-02-30'", /created_at needs a time/],
    ["created_at:~'2026'", /created_at is compared with >/],
    [`label:'${'x'.repeat(2_000)}'`, /at most 2000 characters/],
    ['created_at:>now-99999999999y', /created_at reaches at most 1000 years from now/],
    ['created_at:<now+999999999999999999999s', /at most 1000 years/],
  ])('%s is refused', async (segment, message) => {
    await expect(parseSegment(segment)).rejects.toThrow(message);
    await expect(parseSegment(segment)).rejects.toMatchObject({ name: 'SegmentError' });
  });

  it('can be evaluated whenever it is due, if it was accepted', async () => {
    const amount = fc.oneof(
      fc.nat(40),
      fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
      fc.bigInt(0n, 10n ** 30n),
    );
    const relative = fc.tuple(fc.constantFrom('-', '+'), amount, fc.constantFrom(...'smhdwMy'));
    const comparison = fc.oneof(
      { weight: 4, arbitrary: relative.map(([sign, count, unit]) => `created_at:>now${sign}${count}${unit}`) },
      fc.integer({ min: -1, max: 10_000 }).map((year) => `created_at:<'${String(year).padStart(4, '0')}-12-31'`),
      fc
        .tuple(fc.constantFrom('', '-', '~', '~^', '-~$'), fc.string())
        .map(([operator, text]) => `label:${operator}'${text}'`),
      fc.constantFrom('status:paid', 'status:-[free,comped]', "newsletters:'w'"),
    );
    const segments = fc.array(comparison, { minLength: 1, maxLength: 4 }).map((all) => all.join('+'));
    const times = fc.date({ min: new Date('2026-01-01'), max: new Date('2100-01-01'), noInvalidDate: true });
    let accepted = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(segments, times, async (segment, at) => {
        const parsed = await parseSegment(segment).catch((error: unknown) => error);
        if (parsed instanceof Error) {
          expect(parsed.name).toBe('SegmentError');
          refused += 1;
          return;
        }
        expect(segmentMatcher(await parseSegment(segment), at)(MEMBER)).toBeTypeOf('boolean');
        accepted += 1;
      }),
      { numRuns: 500 },
    );
    expect(Math.min(accepted, refused)).toBeGreaterThan(50);
  });

  it('counts relative times from the given time, not from now', async () => {
    expect(await matches('created_at:>now-1d', MEMBER, new Date('2026-03-01T11:59:59.000Z'))).toBe(true);
    expect(await matches('created_at:>now-1d', MEMBER, new Date('2026-03-01T12:00:01.000Z'))).toBe(false);
  });
});
