import { RemovalPolicy } from 'aws-cdk-lib';
import { isProduction, type StageConfig } from '../../config/stage-config.ts';

/** A stack that is deleted removes its tables, keys and logs, except in production. */
export function removalPolicyOf(config: Pick<StageConfig, 'stage'>): RemovalPolicy {
  return isProduction(config) ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
}
