import { execFileSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { EVENT_RULER } from './tools.ts';

export interface Question {
  /** An event pattern: of an EventBridge rule, or one filter of an event source mapping. */
  readonly pattern: object;
  readonly event: object;
}

/**
 * Asks the library that AWS itself matches with. One Java process answers all questions, in their order.
 * @throws Error with the library's message when it refuses a pattern
 */
export function askEventRuler(questions: readonly Question[]): boolean[] {
  const answers = execFileSync('java', ['-cp', [EVENT_RULER, join(EVENT_RULER, '*')].join(delimiter), 'Match'], {
    input: questions.map((question) => `${JSON.stringify(question)}\n`).join(''),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  const lines = answers.trimEnd().split('\n');
  if (lines.length !== questions.length) throw new Error(`${questions.length} questions got ${lines.length} answers`);
  return lines.map((line, index) => {
    if (line === 'true' || line === 'false') return line === 'true';
    throw new Error(`event-ruler refuses ${JSON.stringify(questions[index]?.pattern)}: ${line}`);
  });
}
