import { ExplainedError } from '../../core/model/problem.ts';

/** A file of members that cannot be taken as a whole: what is wrong, and what would be right. */
export class MemberFileError extends ExplainedError {
  override readonly name = 'MemberFileError';
  override readonly exitCode = 2;
}

/** What is wrong with one value of a line. It quotes nothing of the line, which is about a person. */
export class CellFault extends Error {
  readonly column: string;

  constructor(column: string, message: string) {
    super(message);
    this.column = column;
  }
}
