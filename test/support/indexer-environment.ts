/** The due-indexer binds itself to its environment on import, as Lambda loads it. */
export const INDEXER_ENVIRONMENT = {
  NOTIFICATION_LOG_TABLE: 'log',
  NOTIFICATION_CONTENT_TABLE: 'content',
  NOTIFICATION_RETRY_LOG_TABLE: 'retry-log',
  DATA_KEYS_TABLE: 'data-keys',
  PIPELINE_STATE_TABLE: 'pipeline-state',
  INDEX_SHARDS: '{"work":8,"history":4}',
  LOCAL_SECRETS_FILE: '/none',
  RETRY_POLICY: JSON.stringify({
    base_interval_seconds: 300,
    max_retries: { urgent: 10, important: 7, normal: 5, info: 3 },
    retention_hours: { urgent: 24, important: 12, normal: 6, info: 3 },
  }),
};
