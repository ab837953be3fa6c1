import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import * as v from 'valibot';

/** The keys of a secret that signs. Each is derived for one use: no signature of another use is valid in its place. */
export interface KeyRing {
  /** Id of the key that signs. */
  readonly current: string;
  /** Keys that sign, or signed, by id: 1 to 10 of a-z and 0-9. */
  readonly keys: ReadonlyMap<string, KeyObject>;
}

const ringShape = v.object({
  current: v.string(),
  keys: v.record(v.pipe(v.string(), v.regex(/^[a-z0-9]{1,10}$/)), v.pipe(v.string(), v.minLength(32))),
});
/** Id of the only key of a secret that holds nothing else. */
const ONLY = '0';

/**
 * Reads secrets that are one key as text, or `{"current":"b","keys":{"a":"…","b":"…"}}`: `b` signs, and what `a` signed
 * stays valid. It remembers the last secret, because deriving its keys costs as much as a signature.
 * @param use what the keys sign, such as `unsubscribe links`; part of the derivation
 * @returns a function that throws an Error for a malformed ring, and quotes nothing of it
 */
export function createKeyRings(use: string): (secret: string) => KeyRing {
  let last: { readonly secret: string; readonly ring: KeyRing } | undefined;
  return (secret) => {
    if (last?.secret !== secret) last = { secret, ring: readRing(secret, use) };
    return last.ring;
  };
}

/** @throws Error if `current` names none of the keys */
export function signingKey({ current, keys }: KeyRing, use: string): KeyObject {
  const key = keys.get(current);
  if (key === undefined) throw new Error(`The secret of ${use} has no key that \`current\` names.`);
  return key;
}

function readRing(secret: string, use: string): KeyRing {
  // As a KeyObject, because Node takes ten times as long for each signature with the bytes of a key.
  const derived = (key: string) => createSecretKey(createHmac('sha256', key).update(use).digest());
  if (!secret.trimStart().startsWith('{')) return { current: ONLY, keys: new Map([[ONLY, derived(secret)]]) };
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), ringShape), secret);
  if (!parsed.success) throw new Error(`The secret of ${use} must be one key, or {"current":ID,"keys":{ID:KEY}}.`);
  const { current, keys } = parsed.output;
  return { current, keys: new Map(Object.entries(keys).map(([id, key]) => [id, derived(key)])) };
}
