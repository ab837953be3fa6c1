import { describe, expect, it } from 'vitest';
import type { Item } from '../../../src/client/handover/item.ts';
import { seal, spoolKey, unseal } from '../../../src/client/spool/seal.ts';
import {
  CorruptFileError,
  decode,
  decodeHeader,
  encode,
  openItems,
  type SpoolHeader,
  sealItems,
  UnreadableFileError,
} from '../../../src/client/spool/spool-file.ts';

const HEX = '0123456789abcdef'.repeat(4);
const key = spoolKey(HEX);
const header: SpoolHeader = {
  version: 1,
  firstAttempt: '2026-11-21T09:00:00.000Z',
  retryCount: 2,
  notifications: 1,
  lastError: { at: '2026-11-21T10:00:00.000Z', reason: 'no answer' },
};
const item = { kind: 'notification', idempotency_key: 'k-1', body: { body: '本文' } } as unknown as Item;
const failure = { kind: 'failure', idempotency_key: 'k-2', log_id: 'NL-1', body: {} } as unknown as Item;

describe('a spool key', () => {
  it('is the same in hexadecimal, in either case, and in base64', () => {
    const base64 = Buffer.from(HEX, 'hex').toString('base64');
    expect([spoolKey(HEX.toUpperCase()), spoolKey(base64)]).toEqual([key, key]);
    expect(key.id).toMatch(/^[0-9a-f]{8}$/);
    expect(spoolKey('f'.repeat(64)).id).not.toBe(key.id);
  });

  it.each(['', 'short', HEX.slice(2), `${HEX}x`, `${HEX}00`])(
    'of another length is refused, and not shown: %s',
    (text) => {
      const refused = () => spoolKey(text);
      expect(refused).toThrow(TypeError);
      expect(refused).toThrow('A spool key must be 32 bytes, in base64 or hexadecimal: openssl rand -base64 32');
    },
  );

  it('encrypts a text differently each time, bound to another text', () => {
    const sealed = [seal('件名', key, 'bound'), seal('件名', key, 'bound')];
    expect(sealed[0]).not.toBe(sealed[1]);
    for (const one of sealed) expect(unseal(one, key, 'bound')).toBe('件名');
    expect(() => unseal(sealed[0] ?? '', key, 'another')).toThrow();
    expect(() => unseal(sealed[0] ?? '', spoolKey('f'.repeat(64)), 'bound')).toThrow();
    expect([unseal(seal('a', key), key, ''), unseal(seal('a', key, ''), key)]).toEqual(['a', 'a']);
  });
});

describe('the text of a spool file', () => {
  const text = encode({ header, payload: '[]' });

  it('is what was written', () => {
    expect(decode(text)).toEqual({ header, payload: '[]' });
    expect(text.split('\n')).toEqual([JSON.stringify(header), '[]', expect.stringMatching(/^[0-9a-f]{64}$/), '']);
  });

  it.each([
    ['the end is missing', text.slice(0, -1)],
    ['the checksum is missing', text.slice(0, -66)],
    ['all but the first line is missing', `${JSON.stringify(header)}\n`],
    ['a line is added', `${text}\n`],
    ['the payload is another', text.replace('[]', '{}')],
    ['the first line is another', text.replace('"retryCount":2', '"retryCount":1')],
  ])('is corrupt when %s', (_, changed) => {
    expect(() => decode(changed)).toThrow(new CorruptFileError('it is cut off or was changed'));
  });

  it.each([
    ['nothing', ''],
    ['another file', 'hello\n'],
    ['a JSON without a version', '{}\n'],
    ['a version that is no number', '{"version":"1"}\n'],
    ['no end of its first line', JSON.stringify(header)],
  ])('does not begin as one: %s', (_, other) => {
    expect(() => decodeHeader(other)).toThrow(new CorruptFileError('it does not begin as a spool file'));
  });

  it('of a newer version is left to a newer client', () => {
    const newer = JSON.stringify({ ...header, version: 3 });
    expect(() => decodeHeader(`${newer}\n`)).toThrow(
      new UnreadableFileError('it has version 3: a newer client wrote it'),
    );
    expect(decodeHeader(`${JSON.stringify({ ...header, version: 2 })}\nmore`)).toEqual({ ...header, version: 2 });
  });

  it.each([
    { firstAttempt: 'yesterday' },
    { firstAttempt: undefined },
    { retryCount: -1 },
    { retryCount: 1.5 },
    { notifications: '1' },
    { notifications: undefined },
    { lastError: undefined },
    { lastError: { at: header.firstAttempt } },
  ])('lacks a part of its first line: %j', (change) => {
    const line = `${JSON.stringify({ ...header, ...change })}\n`;
    expect(() => decodeHeader(line)).toThrow(
      new CorruptFileError('its first line lacks firstAttempt, retryCount, notifications or lastError'),
    );
  });

  it('counts from 0', () => {
    const none = { ...header, retryCount: 0, notifications: 0 };
    expect(decodeHeader(`${JSON.stringify(none)}\n`)).toEqual(none);
  });

  it('has errors that a caller can tell apart by name', () => {
    expect([new CorruptFileError('').name, new UnreadableFileError('').name]).toEqual([
      'CorruptFileError',
      'UnreadableFileError',
    ]);
  });
});

describe('the items of a spool file', () => {
  it('are written with the first line that belongs to them', () => {
    expect(sealItems([item, failure], { ...header, keyId: 'old' }, undefined)).toEqual({
      header: { ...header, notifications: 2 },
      payload: JSON.stringify([item, failure]),
    });
    const sealed = sealItems([item, failure], header, key);
    expect(sealed.header).toEqual({ ...header, version: 2, keyId: key.id, notifications: 2 });
    expect(openItems(sealed, [spoolKey('f'.repeat(64)), key])).toEqual([item, failure]);
  });

  it.each([
    ['no JSON', 'x'],
    ['no list', '{}'],
    ['no object', '[1]'],
    ['nothing', '[null]'],
    ['no key', JSON.stringify([{ ...item, idempotency_key: 7 }])],
    ['no body', JSON.stringify([{ ...item, body: 'text' }])],
    ['an unknown kind', JSON.stringify([{ ...item, kind: 'other' }])],
    ['an unknown kind, with a log_id', JSON.stringify([{ ...failure, kind: 'other' }])],
    ['a failure of no notification', JSON.stringify([{ ...failure, log_id: undefined }])],
    ['one good and one bad', JSON.stringify([item, 1])],
  ])('are corrupt if they are %s', (_, payload) => {
    expect(() => openItems({ header, payload }, [])).toThrow(
      new CorruptFileError('its items are not what was written'),
    );
  });

  it('do not open without their key, or with a key for those that have none', () => {
    const sealed = sealItems([item], header, key);
    expect(() => openItems(sealed, [])).toThrow(
      new UnreadableFileError(`it is encrypted with the key ${key.id}, which is not configured`),
    );
    expect(() => openItems(sealItems([item], header, undefined), [key])).toThrow(UnreadableFileError);
    const forged = { ...sealed, header: { ...sealed.header, retryCount: 0 } };
    expect(() => openItems(forged, [key])).toThrow(
      new CorruptFileError('its items do not decrypt, or its first line was changed'),
    );
  });
});
