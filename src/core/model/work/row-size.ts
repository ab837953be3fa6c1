/** A write is charged by the started kilobyte of its whole item. */
const WRITE_UNIT = 1024;
/** Of a map or list, and of each of its entries. */
const CONTAINER_BYTES = 3;

/** Bytes of a row as DynamoDB counts them: names and values in UTF-8, a number a byte per two digits plus one. */
export function rowBytes(row: object): number {
  return Object.entries(row).reduce(
    (sum, [name, value]) => sum + (value === undefined ? 0 : utf8Bytes(name) + valueBytes(value)),
    0,
  );
}

/** Bytes that are left of the write unit in which a row of so many bytes ends. */
export function roomLeft(bytes: number): number {
  return Math.ceil(bytes / WRITE_UNIT) * WRITE_UNIT - bytes;
}

export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // Half of a surrogate pair counts two of its four bytes.
    if (code >= 0x80) bytes += code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}

function valueBytes(value: unknown): number {
  if (typeof value === 'string') return utf8Bytes(value);
  if (typeof value === 'number') return Math.ceil(String(value).replace(/\D/g, '').length / 2) + 1;
  if (typeof value !== 'object' || value === null) return 1;
  return CONTAINER_BYTES + Object.keys(value).length + rowBytes(value);
}
