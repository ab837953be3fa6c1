/** Levels of quotes and lists that indent. Each line carries its indentation, so that more would cost its square. */
const MOST_INDENTS = 20;

/** Text as lines: blanks collapsed, line breaks as they are owed. A cell of a table has a frame of its own. */
export class TextFrame {
  /** Whether cells of this frame's row stand beside empty ones. */
  keepsEmptyCells = false;
  readonly #lines: string[] = [];
  #line = '';
  readonly #indents: string[] = [];
  #prefix = '';
  #cells: string[] = [];
  /** Line breaks before the next text. */
  #owed = 0;
  #blank = false;
  /** The line has the mark of a list's item and nothing else yet. */
  #marked = false;
  /** How far the prefix of the last line went. */
  #last = '';

  /** Text whose runs of white space are one blank. */
  add(text: string): void {
    for (const [index, word] of text.split(/[ \t\r\n\f]+/).entries()) {
      if (index > 0) this.#blank = true;
      if (word !== '') this.#addWord(word);
    }
  }

  /** Text as it is, its line breaks and blanks included. */
  addAsIs(text: string): void {
    for (const [index, line] of text.split(/\r\n?|\n/).entries()) {
      if (index > 0) this.endLine();
      if (line !== '') this.#addWord(line);
    }
  }

  /** A word that blanks hold apart from what comes next: an address takes nothing along. */
  addApart(word: string): void {
    if (this.#line !== '' && !this.#marked) this.#blank = true;
    this.#addWord(word);
    this.#blank = true;
  }

  /** At least `count` line breaks, but none at the beginning. */
  break(count: 1 | 2): void {
    this.#endRow();
    if (this.#marked) return;
    this.#owed = Math.max(this.#owed, count);
    this.#blank = false;
  }

  /** A line break of the text's own, which may leave a line empty. */
  endLine(): void {
    this.#endRow();
    this.#owed += 1;
    this.#blank = false;
    this.#marked = false;
  }

  /** Begins an item of a list. */
  item(mark: string): void {
    this.#marked = false;
    this.break(1);
    this.#addWord(mark);
    this.#marked = true;
  }

  indent(by: string): void {
    this.#indents.push(by);
    this.#prefix = this.#indents.slice(0, MOST_INDENTS).join('');
  }

  outdent(): void {
    this.#indents.pop();
    this.#prefix = this.#indents.slice(0, MOST_INDENTS).join('');
    this.#marked = false;
  }

  /** A cell of the current row. */
  cell(text: string): void {
    this.#cells.push(text);
  }

  toString(): string {
    this.#endRow();
    return [...this.#lines, this.#line].join('\n').trimEnd();
  }

  #addWord(word: string): void {
    this.#endRow();
    if (this.#owed > 0 && (this.#lines.length > 0 || this.#line !== '')) this.#startLine();
    if (this.#line === '') this.#line = this.#last = this.#prefix;
    else if (this.#blank) this.#line += ' ';
    this.#line += word;
    this.#owed = 0;
    this.#blank = false;
    this.#marked = false;
  }

  #startLine(): void {
    this.#lines.push(this.#line.trimEnd());
    const prefix = this.#prefix;
    const between = (prefix.length < this.#last.length ? prefix : this.#last).trimEnd();
    for (let more = 1; more < this.#owed; more += 1) this.#lines.push(between);
    this.#line = '';
  }

  /** One line for cells of one line each, and lines of its own for each cell where one has more. */
  #endRow(): void {
    if (this.#cells.length === 0) return;
    const cells = this.keepsEmptyCells ? this.#cells : this.#cells.filter((cell) => cell !== '');
    this.#cells = [];
    if (cells.every((cell) => !cell.includes('\n'))) {
      if (cells.some((cell) => cell !== '')) this.addAsIs(cells.join(' | ').trimEnd());
      return;
    }
    for (const cell of cells.filter((one) => one !== '')) {
      this.break(1);
      this.addAsIs(cell);
    }
  }
}
