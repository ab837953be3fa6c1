import { Annotations, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';

interface Lack {
  /** Of the warning, by which a team acknowledges it. */
  readonly id: string;
  readonly regions: RegExp;
  readonly wants: (config: StageConfig) => boolean;
  readonly says: string;
}

const onTheWeb = ({ console }: StageConfig) => console !== 'off';
const LOCALLY = 'leave console "off", and ops console serves it on your machine';

/** What AWS does not have everywhere. A stack that wants it would fail to be deployed, after minutes. */
const LACKS: readonly Lack[] = [
  {
    regions: /^cn-/,
    wants: ({ channels }) => channels.includes('email'),
    id: 'no-ses',
    says: 'China has no SES: leave email out of channels, with newsletters false, or deploy the stage elsewhere',
  },
  {
    regions: /^cn-/,
    wants: onTheWeb,
    id: 'no-console',
    says: `China has no user pools, and its CloudFront serves nothing under its own domain: ${LOCALLY}`,
  },
  { regions: /^us-gov-/, wants: onTheWeb, id: 'no-console', says: `GovCloud has no CloudFront: ${LOCALLY}` },
];

/** Says at the synthesis what the region of the stack lacks. A stack without a region is for any. */
export function warnOfRegion(scope: Construct, config: StageConfig): void {
  const { region } = Stack.of(scope);
  for (const { regions, wants, id, says } of LACKS) {
    if (regions.test(region) && wants(config)) {
      Annotations.of(scope).addWarningV2(`notification-retry:${id}`, says);
    }
  }
}
