import { RemovalPolicy } from 'aws-cdk-lib';
import { retains } from '../../config/parts.ts';
import type { StageConfig } from '../../config/stage-config.ts';

type Kept = Pick<StageConfig, 'stage' | 'retain'>;

/**
 * A stack that is deleted removes its keys, secrets and logs, except where the stage retains. What a failed first
 * deployment has made goes in any case: it would be paid for, and holds nothing.
 */
export function removalPolicyOf(config: Kept): RemovalPolicy {
  return retains(config) ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;
}

/** Tables refuse to be deleted where the stage retains, also in a failed first deployment. */
export function tableRemovalPolicyOf(config: Kept): RemovalPolicy {
  return retains(config) ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
}
