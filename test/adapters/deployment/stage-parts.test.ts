import * as v from 'valibot';
import { expect, it } from 'vitest';
import { retryPolicyJson } from '../../../lib/config/settings-json.ts';
import { parseStageConfig } from '../../../lib/config/stage-config.ts';
import { SETTING_OUTPUTS } from '../../../src/adapters/deployment/stage-parts.ts';

const config = parseStageConfig({ stage: 'dev', senderAddress: 'noreply@example.com' });
const OUTPUTS = { SweepIntervalSeconds: '3600', RetryPolicy: retryPolicyJson(config) };
const isTaken = (outputs: object) => v.safeParse(v.object(SETTING_OUTPUTS), outputs).success;

it('a stack of before lacks some outputs', () => expect(isTaken(OUTPUTS)).toBe(true));

it.each([
  ['SweepIntervalSeconds', '1e3'],
  ['NewsletterQueues', '{"prepare":"","send":"https://sqs/send"}'],
  ['NewsletterQueues', ''],
  ['NewsletterConfigurationSet', ''],
  ['UncertainMinutes', ''],
  ['BatchConcurrency', '2.5'],
  ['OutcomesBus', ''],
])('an output %s of %j names nothing', (name, value) => expect(isTaken({ ...OUTPUTS, [name]: value })).toBe(false));
