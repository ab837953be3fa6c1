const CONSOLE = { issuer: 'https://login.example.com/realms/ops', clientId: 'console' };

/** A stage with these values in place of those of cdk.json's `dev`. */
const stage = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries({ senderAddress: 'noreply@mail.your-domain.jp', ...values }).map(([key, value]) => [
      `notification-retry.${key}`,
      value,
    ]),
  );

/** The context of stages that take more or fewer parts. */
export const STAGES = {
  least: stage({ channels: ['webhook'], api: false, newsletters: false, monitoring: 'off' }),
  default: stage({}),
  'without newsletters': stage({ newsletters: false }),
  everything: stage({
    console: CONSOLE,
    retain: true,
    monitoring: 'full',
    outcomes: true,
    verifySchedule: 'rate(1 day)',
  }),
} as const;

/** Each value of a part beside each value of every other part, as far as they may stand together. */
export const PAIRS: readonly Readonly<Record<string, unknown>>[] = [
  { channels: ['webhook'], api: {}, newsletters: false, monitoring: 'critical', console: CONSOLE, retain: true },
  {
    channels: ['webhook'],
    api: false,
    newsletters: 'data',
    monitoring: 'full',
    console: 'off',
    retain: false,
    outcomes: true,
    verifySchedule: 'rate(1 day)',
  },
  { channels: ['slack', 'teams'], api: false, newsletters: false, monitoring: 'full', console: CONSOLE, retain: true },
  { channels: ['slack', 'teams'], api: {}, newsletters: 'data', monitoring: 'off', console: CONSOLE, retain: false },
  { channels: ['email'], api: {}, newsletters: true, monitoring: 'off', console: 'off', retain: true, outcomes: true },
  { channels: ['email'], api: false, newsletters: 'data', monitoring: 'critical', console: CONSOLE, retain: true },
  {
    channels: ['email', 'webhook'],
    api: {},
    newsletters: true,
    monitoring: 'critical',
    console: CONSOLE,
    retain: false,
    outcomes: true,
  },
  { channels: ['email', 'webhook'], api: false, newsletters: false, monitoring: 'off', console: 'off', retain: true },
  { channels: ['email', 'webhook'], api: {}, newsletters: true, monitoring: 'full', console: 'off', retain: false },
].map(stage);
