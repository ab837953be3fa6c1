import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/project-root.ts';

const textOf = (path: string) => readFileSync(join(PROJECT_ROOT, path), 'utf8');
const DOCUMENTS = [
  'batch-952-notification-retry.md',
  'his-notification-log-table.md',
  'retry-and-idempotency-design.md',
  'adr-006-spool-retention.md',
  'batch-sending-service-job.md',
];
const sections = textOf('docs/source-documents.md')
  .split(/^## /m)
  .slice(1)
  .map((section) => ({ document: section.slice(0, section.indexOf('\n')), section }));

describe('the statements that differ', () => {
  it('are listed by source document', () => expect(sections.map(({ document }) => document)).toEqual(DOCUMENTS));

  it.each(sections)('of $document each say where they are decided', ({ section }) => {
    const rows = section.split('\n').filter((line) => /^\|(?!section |--)/.test(line));
    expect(rows.length).toBeGreaterThan(4);
    for (const row of rows) expect(row).toMatch(/^\|[^|]+ \|[^|]+ \|\[[^\]]+\]\([^)]+\)\|$/);
  });

  it.each(sections)('stand beside a walk of $document on the local runtime, step by step', ({ document, section }) => {
    const [, flow = ''] = /^Walked by `(test\/flow\/[\w.-]+)`/m.exec(section) ?? [];
    expect(textOf(flow)).toContain(`describe('${document}', `);
  });
});
