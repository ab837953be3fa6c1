import { type HttpAnswer, type NetworkFault, noHttp, switched } from './network-classification.ts';

/** Most bytes of the head of an answer, and of what stands between two chunks. */
const MAX_HEAD_BYTES = 64 * 1024;
/** Most packets of a head that are kept for the description of a fault: interim answers may come without end. */
const MAX_CAME = 100;

const STATUS_LINE = /^HTTP\/\d\.(\d)[ \t]+(\d{3})(?!\S)/;
const FIELD = /^([\w!#$%&'*+.^`|~-]+):(.*)/s;
const CHUNKED = /(^|,)[ \t]*chunked$/i;
/** A bare LF may end a line of a head, but none between chunks (RFC 9112 §2.2, §7.1). */
const CHUNK_SIZE = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?\r\n$/i;
const NO_MORE = '\r\n';

/** What the next bytes are. None are once the answer is whole, or cut: no more of it can be read. */
type Next =
  | 'status line'
  | 'fields'
  | 'content'
  | 'chunk size'
  | 'chunk'
  | 'end of chunk'
  | 'trailer'
  | 'whole'
  | 'cut';

/**
 * Reads one answer from the bytes of a connection, in any packets (RFC 9112). From the end of its final head on it
 * counts, whatever follows: what its head leaves open, and what is malformed behind it, makes it incomplete.
 */
export class AnswerReader {
  /** Why what came is no answer. */
  fault: NetworkFault | undefined;
  readonly #limit: number;
  #next: Next = 'status line';
  /** The part of a line that has come, and the bytes of all lines of the head, or since the last chunk. */
  #line = '';
  #lineBytes = 0;
  #came: Buffer[] = [];
  #status = 0;
  #minor = '1';
  #headers: Record<string, string> = {};
  /** A field is malformed, or the length contradicts itself (RFC 9112 §6.3): nobody knows how much follows the head. */
  #isUnclear = false;
  /** Bytes of the content, or of the present chunk, that are still to come; infinite: until the connection ends. */
  #left = 0;
  #content: Buffer[] = [];
  #size = 0;
  /** More came than the answer, or nothing will come any more. */
  #isSpent = false;

  /** @param limit most bytes of the content */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether nothing of the answer is still to come. */
  get ended(): boolean {
    return this.#next === 'whole' || this.#next === 'cut' || this.fault !== undefined;
  }

  /** Seconds for which the other side keeps the connection for another request; 0: it does not. */
  get keptSeconds(): number {
    const { connection = '', 'keep-alive': announced = '' } = this.#headers;
    const isKept = this.#minor === '0' ? /keep-alive/i.test(connection) : !/close/i.test(connection);
    if (!isKept || this.#next !== 'whole' || this.#isSpent) return 0;
    return Number(/\btimeout=(\d+)/i.exec(announced)?.[1] ?? Number.POSITIVE_INFINITY);
  }

  get came(): Buffer {
    return Buffer.concat(this.#came);
  }

  /** The answer as far as it has come; undefined before its head has ended. */
  get answer(): HttpAnswer | undefined {
    if (!this.#isAnswered) return undefined;
    const text = Buffer.concat(this.#content, Math.min(this.#size, this.#limit)).toString();
    return { status: this.#status, headers: this.#headers, text, complete: this.#next === 'whole' };
  }

  get #isAnswered(): boolean {
    return this.#next !== 'status line' && this.#next !== 'fields';
  }

  read(bytes: Buffer): void {
    if (!this.#isAnswered && this.#came.length < MAX_CAME) this.#came.push(bytes);
    let at = 0;
    while (at < bytes.length && !this.ended) {
      const isContent = this.#next === 'content' || this.#next === 'chunk';
      at = isContent ? this.#readContent(bytes, at) : this.#readLine(bytes, at);
    }
    this.#isSpent = at < bytes.length;
    if (this.#isAnswered && this.#isUnclear) this.#next = 'cut';
  }

  /** The other side sends no more. */
  close(): void {
    if (this.#isAnswered) this.#next = this.#left === Number.POSITIVE_INFINITY ? 'whole' : 'cut';
    this.#isSpent = true;
  }

  #readContent(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#content.push(bytes.subarray(at, end));
    this.#size += end - at;
    this.#left -= end - at;
    if (this.#size > this.#limit) this.#next = 'cut';
    else if (this.#left === 0) this.#next = this.#next === 'chunk' ? 'end of chunk' : 'whole';
    return end;
  }

  #readLine(bytes: Buffer, at: number): number {
    const lf = bytes.indexOf('\n', at);
    const end = lf < 0 ? bytes.length : lf + 1;
    this.#line += bytes.toString('latin1', at, end);
    this.#lineBytes += end - at;
    const isTooLong = this.#lineBytes > MAX_HEAD_BYTES;
    if (isTooLong && this.#isAnswered) this.#next = 'cut';
    else if (isTooLong || (this.#next === 'status line' && !mayBegin(this.#line))) this.fault = noHttp(this.came);
    else if (lf >= 0) {
      const line = this.#line;
      this.#line = '';
      this.#take(line);
    }
    return end;
  }

  #take(line: string): void {
    if (this.#next === 'status line') this.#takeStatus(line.trimStart());
    else if (this.#next === 'fields') line === NO_MORE || line === '\n' ? this.#headEnds() : this.#takeField(line);
    else if (this.#next === 'chunk size') this.#takeChunkSize(CHUNK_SIZE.exec(line)?.[1]);
    else if (this.#next === 'end of chunk') this.#next = line === NO_MORE ? 'chunk size' : 'cut';
    else if (line === NO_MORE) this.#next = 'whole';
  }

  #takeStatus(line: string): void {
    // RFC 9112 §2.2: an empty line before the status line is ignored.
    if (line === '') return;
    const [, minor = '', status] = STATUS_LINE.exec(line) ?? [];
    if (status === undefined || status === '101') this.fault = status === undefined ? noHttp(this.came) : switched();
    [this.#minor, this.#status, this.#headers, this.#next] = [minor, Number(status), {}, 'fields'];
  }

  /** Of several fields of a name the first counts, but for a list (RFC 9110 §5.3). No field that is read here is folded. */
  #takeField(line: string): void {
    if (line.startsWith(' ') || line.startsWith('\t')) return;
    const [, field = '', text = ''] = FIELD.exec(line) ?? [];
    const [name, value] = [field.toLowerCase(), text.trim()];
    const known = Object.hasOwn(this.#headers, name) ? this.#headers[name] : undefined;
    this.#isUnclear ||=
      name === '' || (name === 'content-length' && (known !== undefined || !/^\d{1,15}$/.test(value)));
    if (known === undefined) this.#headers[name] = value;
    else if (name === 'connection' || name === 'transfer-encoding') this.#headers[name] = `${known}, ${value}`;
  }

  #headEnds(): void {
    this.#lineBytes = 0;
    const isInterim = this.#status >= 100 && this.#status < 200;
    const { 'transfer-encoding': coding, 'content-length': length } = this.#headers;
    const isUntilEnd = this.#isUnclear || coding !== undefined || length === undefined;
    const isChunked = !this.#isUnclear && coding !== undefined && CHUNKED.test(coding);
    const isEmpty = !this.#isUnclear && (this.#status === 204 || this.#status === 304);
    if (!isInterim) this.#came = [];
    this.#left = isChunked ? 0 : isUntilEnd ? Number.POSITIVE_INFINITY : Number(length);
    const next = isChunked ? 'chunk size' : isEmpty || this.#left === 0 ? 'whole' : 'content';
    this.#next = isInterim ? 'status line' : next;
  }

  #takeChunkSize(size: string | undefined): void {
    this.#lineBytes = 0;
    this.#left = Number.parseInt(size ?? '', 16);
    this.#next = size === undefined ? 'cut' : this.#left === 0 ? 'trailer' : 'chunk';
  }
}

/** Whether an answer may begin so, in HTTP of any version. CR alone ends no line (RFC 9112 §2.2). */
function mayBegin(text: string): boolean {
  const line = text.trimStart();
  return 'HTTP/0.0'.startsWith(line.slice(0, 8).replace(/\d/g, '0')) && !/\r[^\n]/.test(line);
}
