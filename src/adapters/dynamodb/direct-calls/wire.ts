/** AWS JSON 1.0 as DynamoDB and SQS speak it: JSON, in which binary values are base64. */

/** The text of a request. */
export function encode(input: object): string {
  return JSON.stringify(hasBytes(input) ? withBase64(input) : input);
}

/**
 * The answer of a text, as the SDK gives it: attributes of the types B and BS are bytes, and what is null is absent.
 * @throws SyntaxError when the text is no JSON
 */
export function decode(text: string): object {
  const answer: unknown = text === '' ? {} : JSON.parse(text);
  if (!isObject(answer)) return {};
  // To walk through an answer costs as much as to parse it, and most have nothing to restore.
  return TO_RESTORE.some((sign) => text.includes(sign)) ? restored(answer) : answer;
}

const TO_RESTORE = ['"B"', '"BS"', 'null'];

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function hasBytes(value: object): boolean {
  if (value instanceof Uint8Array) return true;
  for (const one of Object.values(value)) if (isObject(one) && hasBytes(one)) return true;
  return false;
}

function withBase64(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  }
  if (Array.isArray(value)) return value.map(withBase64);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withBase64(one)]));
}

/** In place. A text under B is binary in an attribute value only: an attribute of that name has an object there. */
function restored<T extends Record<string, unknown>>(value: T): T {
  for (const name in value) {
    const one: unknown = value[name];
    if (one === null) delete value[name];
    else if (typeof one === 'string') {
      if (name === 'B') put(value, name, bytesOf(one));
    } else if (name === 'BS' && Array.isArray(one)) {
      put(
        value,
        name,
        one.map((text) => bytesOf(String(text))),
      );
    } else if (isObject(one)) restored(one);
  }
  return value;
}

function put(value: Record<string, unknown>, name: string, one: unknown): void {
  value[name] = one;
}

/** As the SDK gives them: a Buffer is another type to those that compare or copy. */
function bytesOf(base64: string): Uint8Array {
  const { buffer, byteOffset, byteLength } = Buffer.from(base64, 'base64');
  return new Uint8Array(buffer, byteOffset, byteLength);
}
