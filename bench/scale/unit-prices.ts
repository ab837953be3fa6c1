/**
 * Dollars, us-east-1, on demand, without free tiers, as of November 2026. Whoever deploys elsewhere, or finds another
 * price on the services' price pages, replaces it here and runs `npm run bench:scale`.
 */
export const UNIT_PRICES = {
  write_unit: 0.625 / 1e6,
  read_unit: 0.125 / 1e6,
  /** Of DynamoDB, with point-in-time recovery. */
  gigabyte_month: 0.25 + 0.2,
  /** With the surcharge of fair queues. */
  sqs_request: (0.4 + 0.1) / 1e6,
  lambda_request: 0.2 / 1e6,
  /** arm64. */
  lambda_gigabyte_second: 0.0000133334,
  log_gigabyte: 0.5,
} as const;

/** Dollars a month whatever the load: three keys, two secrets, alarms, the dashboard, custom metrics. */
export const FIXED_PRICES = {
  kms_keys: 3 * 1,
  secrets: 2 * 0.4,
  alarms: 40 * 0.1,
  dashboard: 3,
  metrics: 50 * 0.3,
} as const;
