/** Handlers that bind themselves to their environment on import, as Lambda loads them. */

const LANE = { express: 'https://sqs/1/express', standard: 'https://sqs/1/standard' };
const ENVIRONMENT: Readonly<Record<string, string>> = {
  AWS_REGION: 'us-east-1',
  NOTIFICATION_LOG_TABLE: 'log',
  NOTIFICATION_CONTENT_TABLE: 'content',
  DATA_KEYS_TABLE: 'keys',
  PIPELINE_STATE_TABLE: 'state',
  INDEX_SHARDS: '{"work":8,"history":4}',
  LOCAL_SECRETS_FILE: '/none',
  SWEEP_INTERVAL_SECONDS: '3600',
  LANE_SECONDS: '300',
  LANE_QUEUES: JSON.stringify({ email: LANE, slack: LANE, teams: LANE, webhook: LANE }),
  RETRY_POLICY: JSON.stringify({
    base_interval_seconds: 300,
    max_retries: { urgent: 10, important: 7, normal: 5, info: 3 },
    retention_hours: { urgent: 24, important: 12, normal: 6, info: 3 },
  }),
};

const own = { ...process.env };
Object.assign(process.env, ENVIRONMENT);
const { createHandler: createDispatcher } = await import('../../functions/dispatcher/handler.ts');
const { createHandler: createIndexer } = await import('../../functions/due-indexer/handler.ts');
for (const name of Object.keys(ENVIRONMENT)) {
  if (own[name] === undefined) delete process.env[name];
  else process.env[name] = own[name];
}

export { createDispatcher, createIndexer };
