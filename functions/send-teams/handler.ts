import { teamsReceiver } from '../../src/adapters/teams/receiver.ts';
import { createTeamsSender } from '../../src/adapters/teams/sender.ts';
import { bindChannel } from '../shared/channel/bind-channel.ts';
import { parseEnv, senderEnv } from '../shared/runtime/env.ts';

const env = parseEnv(senderEnv, process.env);

export const handler = bindChannel(
  'teams',
  env,
  (credentials) => createTeamsSender({ credentials, allowPrivateTargets: env.ALLOW_PRIVATE_TARGETS }),
  () => ({ receiver: teamsReceiver }),
);
