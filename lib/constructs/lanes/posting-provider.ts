import type { PostingEnv, SenderEnv } from '../../../functions/shared/runtime/env.ts';
import type { StageConfig } from '../../config/stage-config.ts';

/** The variables of PostingEnv that the e-mail sender does not have. */
export function postingEnvironment({ webhookPorts }: StageConfig) {
  return { WEBHOOK_PORTS: [443, ...webhookPorts].join(',') } satisfies Omit<PostingEnv, keyof SenderEnv>;
}
