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
  /** A receive that finds nothing. */
  sqs_empty_receive: 0.4 / 1e6,
  lambda_request: 0.2 / 1e6,
  /** arm64. */
  lambda_gigabyte_second: 0.0000133334,
  log_gigabyte: 0.5,
  http_api_request: 1 / 1e6,
  /** Each of its first two rotations, a year apart, adds as much. */
  kms_key_month: 1,
  kms_request: 0.03 / 1e4,
  secret_month: 0.4,
  /** An alarm costs as many as it has metrics. */
  alarm_metric_month: 0.1,
  /** A metric is paid for the hours in which it is written. */
  custom_metric_month: 0.3,
  dashboard_month: 3,
  /** Sent by SES. */
  mail: 0.1 / 1e3,
  /** Of Cognito, in a month in which they sign in. */
  sign_in_user: 0.015,
} as const;

/** What other ways to send a webhook pay, in dollars, us-east-1: read in pages of March to June 2026 that list AWS's prices. */
export const OTHERS_PRICES = {
  /** Of 64 KB, put on a bus of one's own. */
  event: 1 / 1e6,
  api_destination: 0.2 / 1e6,
  sns_publish: 0.5 / 1e6,
  sns_http: 0.6 / 1e6,
  /** x86. */
  fargate_cpu_hour: 0.04048,
  fargate_gigabyte_hour: 0.004445,
  /** A public IPv4 address, where the task has no NAT. */
  address_hour: 0.005,
  /** cache.t4g.micro, one node. */
  redis_node_hour: 0.016,
} as const;
