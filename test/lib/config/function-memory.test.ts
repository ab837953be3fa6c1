import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FUNCTION_MEMORY_MB } from '../../../lib/config/function-memory.ts';
import { parseStageConfig, StageConfigError } from '../../../lib/config/stage-config.ts';

const least = { stage: 'dev', senderAddress: 'noreply@example.com' };

describe('the memory of a function', () => {
  it('has a default for every folder of functions that has a handler', () => {
    const folders = readdirSync('functions').filter((name) => existsSync(`functions/${name}/handler.ts`));
    expect(Object.keys(FUNCTION_MEMORY_MB).sort()).toEqual(folders.sort());
  });

  it('is what the stage sets, and the default for the others', () => {
    const { memoryMb } = parseStageConfig({ ...least, memoryMb: { dispatcher: 1769 } });
    expect(memoryMb).toMatchObject({ dispatcher: 1769, 'send-webhook': 256, 'newsletter-send': 512 });
  });

  it.each([
    [
      { memoryMb: { dispatcher: 64 } },
      'memoryMb.dispatcher must be a whole number from 128 to 10240 (megabytes), is 64',
    ],
    [{ memoryMb: { sender: 512 } }, 'memoryMb.sender is not a known key'],
    [{ indexShards: { work: 4 } }, 'indexShards.work must be a whole number from 8 to 64 (partitions), is 4'],
    [{ indexShards: { history: 65 } }, 'indexShards.history must be a whole number from 4 to 64 (partitions), is 65'],
  ])('and of shards is refused beyond its range: %o', (given, message) => {
    expect(() => parseStageConfig({ ...least, ...given })).toThrow(StageConfigError);
    expect(() => parseStageConfig({ ...least, ...given })).toThrow(message);
  });
});
