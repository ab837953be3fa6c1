import * as v from 'valibot';
import { LANES, type PerLane } from '../../src/core/model/channels.ts';
import { sectionOf } from './config-checks.ts';
import { laneWithoutWindow } from './lane-config.ts';
import { missingForNewsletters } from './parts.ts';
import type { Given, Values } from './setting-types.ts';
import { SETTINGS } from './settings.ts';

/** A stage's configuration, checked and with every default filled in. */
export interface StageConfig extends Values<typeof SETTINGS> {}
/** A stage's configuration as a user writes it: only `stage` and, with e-mail, `senderAddress` are required. */
export interface StageConfigInput extends Given<typeof SETTINGS> {}

/** Names every fault: the key, what is wrong, and what would be right. */
export class StageConfigError extends Error {
  override readonly name = 'StageConfigError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n  ${faults.join('\n  ')}`,
    );
    this.faults = faults;
  }
}

/**
 * Checks a stage's configuration and fills in the defaults. A configuration that passed passes again unchanged.
 * @param nameOf turns a key (dot path, empty for the whole configuration) into the name that its author knows
 * @throws StageConfigError with all faults at once
 */
export function parseStageConfig(input: unknown, nameOf = (path: string) => path || 'configuration'): StageConfig {
  const parsed = v.safeParse(STAGE_CONFIG, input);
  if (parsed.success) return parsed.output;
  throw new StageConfigError(parsed.issues.map((issue) => `${nameOf(v.getDotPath(issue) ?? '')} ${issue.message}`));
}

/** Lambda refuses reservations that leave less than this to the account's other functions. */
const LEAST_UNRESERVED = 100;

/** The settings, and what they must be in proportion to one another. */
const STAGE_CONFIG = v.pipe(
  sectionOf(SETTINGS) as v.GenericSchema<StageConfigInput, StageConfig>,
  v.forward(
    v.check(
      ({ reservedConcurrency: given, concurrency, channels }) =>
        given === undefined || given.accountLimit >= reservedBy(channels, concurrency, given) + LEAST_UNRESERVED,
      ({ input: { reservedConcurrency: given, concurrency, channels } }) => {
        const reserved = given === undefined ? 0 : reservedBy(channels, concurrency, given);
        return (
          `must be at least ${reserved + LEAST_UNRESERVED}, is ${given?.accountLimit}: ${reserved} are reserved (all of ` +
          `concurrency, and the dispatcher), and Lambda leaves ${LEAST_UNRESERVED} to other functions. Raise the ` +
          'account\u2019s limit by Service Quotas, lower concurrency, or remove reservedConcurrency'
        );
      },
    ),
    ['reservedConcurrency', 'accountLimit'],
  ),
  v.forward(
    v.check(
      (given) => laneWithoutWindow(given) === undefined,
      ({ input }) =>
        `is too short for ${laneWithoutWindow(input)}: a batch of more than 10 (batchSize) needs at least 1 second`,
    ),
    ['batchWindowSeconds'],
  ),
  v.forward(
    v.partialCheck(
      [['channels'], ['senderAddress']],
      ({ channels, senderAddress }) => senderAddress !== undefined || !channels.includes('email'),
      'is missing',
    ),
    ['senderAddress'],
  ),
  v.forward(
    v.partialCheck(
      [['newsletters'], ['channels'], ['api']],
      (given) => given.newsletters !== true || missingForNewsletters(given).length === 0,
      ({ input }) =>
        `need ${missingForNewsletters(input).join(' and ')}, which the stage does not have: set newsletters to false, ` +
        'or to "data" to keep their tables, keys and secrets',
    ),
    ['newsletters'],
  ),
);

function reservedBy(
  channels: StageConfig['channels'],
  concurrency: PerLane<number>,
  { dispatcher }: { readonly dispatcher: number },
): number {
  const lanes = channels.flatMap((channel) => LANES.map((lane) => concurrency[channel][lane]));
  return lanes.reduce((sum, batches) => sum + batches, dispatcher);
}
