import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseStageConfig } from '../../lib/config/stage-config.ts';
import { LOADS, settingsFor, settingsTable } from '../../tools/bench/scale/settings.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

describe('the settings for a load', () => {
  it('are in the document as they are computed', () => {
    expect(readFileSync(join(PROJECT_ROOT, 'docs/scale-settings.md'), 'utf8')).toContain(settingsTable());
  });

  it.each(LOADS)('take the peak of $what within its hour, and are a valid configuration', (load) => {
    const { concurrency, dispatcher_mb, work_shards, history_shards, drained_minutes } = settingsFor(load);
    expect(drained_minutes).toBeLessThanOrEqual(60 / 1.2);
    parseStageConfig({
      stage: 'prod',
      senderAddress: 'noreply@mail.your-domain.example',
      concurrency: { webhook: { standard: concurrency } },
      memoryMb: { dispatcher: dispatcher_mb },
      indexShards: { work: work_shards, history: history_shards },
    });
  });

  it('cost more with more load, and per notification less', () => {
    const dollars = LOADS.map((load) => settingsFor(load).dollars);
    const each = LOADS.map(({ per_month }, i) => (dollars[i] ?? 0) / per_month);
    expect(dollars).toEqual([...dollars].sort((a, b) => a - b));
    expect(each).toEqual([...each].sort((a, b) => b - a));
  });
});
