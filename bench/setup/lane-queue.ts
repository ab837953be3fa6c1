import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../src/local/emulator/template/references.ts';
import { queueUrl } from '../../src/local/stand-ins/create-queues.ts';
import type { World } from './world.ts';

/** The standard lane of a channel, which takes `normal` notifications. */
export function standardLane(world: World, service: string): { readonly url: string; readonly arn: string } {
  const lanes: Record<string, { standard?: unknown }> = JSON.parse(
    world.functionPlan(service).environment['LANE_QUEUES'] ?? '{}',
  );
  const url = String(lanes[service.replace('send-', '')]?.standard);
  return queueAt(world, url.split('/').at(-1) ?? '');
}

export function queueAt(world: World, name: string): { readonly url: string; readonly arn: string } {
  return {
    url: queueUrl(world.services.sqs, name),
    arn: `arn:aws:sqs:${LOCAL_REGION}:${LOCAL_ACCOUNT}:${name}`,
  };
}
