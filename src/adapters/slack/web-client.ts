import { type FetchFunction, type Logger, type LogLevel, WebClient } from '@slack/web-api';

/**
 * Slack's own client. A module of its own, so that it can be loaded on first use: the package is CommonJS, and split off
 * by the bundler it would have no named exports.
 */
export function createWebClient(token: string, fetch: FetchFunction, slackApiUrl?: string): WebClient {
  return new WebClient(token, {
    // The retries of the pipeline are the only ones (design §10).
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    allowAbsoluteUrls: false,
    maxRequestConcurrency: Number.POSITIVE_INFINITY,
    logger: SILENT,
    fetch,
    ...(slackApiUrl && { slackApiUrl }),
  });
}

/** The client logs what it sends. */
const SILENT: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => 'error' as LogLevel,
  setName() {},
};
