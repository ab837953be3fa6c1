import { createTeamsSender, teamsReceiver } from '../../src/adapters/teams/sender.ts';
import { bindChannel } from '../shared/channel/bind-channel.ts';
import { postingEnv } from '../shared/runtime/env.ts';
import { parseEnv } from '../shared/runtime/env-values.ts';

const env = parseEnv(postingEnv, process.env);

export const handler = bindChannel(
  'teams',
  env,
  (credentials) =>
    createTeamsSender({ credentials, ports: env.WEBHOOK_PORTS, allowPrivateTargets: env.ALLOW_PRIVATE_TARGETS }),
  () => ({ receiver: teamsReceiver }),
);
