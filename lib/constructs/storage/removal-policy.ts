import { RemovalPolicy } from 'aws-cdk-lib';
import { isProduction, type StageConfig } from '../../config/stage-config.ts';

/** What becomes of a table, key or log when its stack is deleted: production keeps it. */
export function removalPolicyOf(config: Pick<StageConfig, 'stage'>): RemovalPolicy {
  return isProduction(config) ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
}
