import type { StageConfig } from '../../config/stage-config.ts';
import type { WildcardPermission } from './nag-acknowledgements.ts';
import { allow } from './permissions.ts';

/** What Lambda does in the name of a function's role to put the function into a network. */
export const useInterfaces = () =>
  allow(
    [
      'ec2:AssignPrivateIpAddresses',
      'ec2:CreateNetworkInterface',
      'ec2:DeleteNetworkInterface',
      'ec2:DescribeNetworkInterfaces',
      'ec2:DescribeSubnets',
      'ec2:UnassignPrivateIpAddresses',
    ],
    ['*'],
  );

export function networkRights({ vpc }: Pick<StageConfig, 'vpc'>): WildcardPermission[] {
  const reason = 'Lambda makes the network interfaces of a function, which have no names before.';
  return vpc === undefined ? [] : [{ statement: useInterfaces(), resource: '*', reason }];
}
