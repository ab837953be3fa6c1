import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const RUNBOOK = join(import.meta.dirname, '..', '..', 'docs', 'runbook.md');

/** The runbook's policy for writers of NotificationLog. */
export interface WriterPolicy {
  readonly Effect: string;
  readonly Action: readonly string[];
  readonly Condition: {
    readonly 'ForAllValues:StringEquals': { readonly 'dynamodb:Attributes': readonly string[] };
    readonly Null: Readonly<Record<string, string>>;
  };
}

/** The policy as an administrator copies it from the runbook, section "Rights of writers". */
export function writerPolicy(): WriterPolicy {
  const json = /### Rights of writers.*?```json\n(.*?)```/s.exec(readFileSync(RUNBOOK, 'utf8'))?.[1] ?? '{}';
  const { Statement: [statement] = [] } = JSON.parse(json) as { readonly Statement?: readonly WriterPolicy[] };
  if (statement === undefined) throw new Error('docs/runbook.md, "Rights of writers", has no policy.');
  return statement;
}
