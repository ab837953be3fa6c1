import { createTeamsSender, teamsReceiver } from '../../src/adapters/teams/sender.ts';
import { bindOnAws } from '../shared/channel/channel-on-aws.ts';
import { postingEnv } from '../shared/runtime/env.ts';
import { bindFunction } from '../shared/runtime/observability.ts';

export const handler = bindFunction(postingEnv, (env, observability) =>
  bindOnAws('teams', env, observability, (credentials) => ({
    sender: createTeamsSender({
      credentials,
      ports: env.WEBHOOK_PORTS,
      allowPrivateTargets: env.ALLOW_PRIVATE_TARGETS,
    }),
    receiver: teamsReceiver,
  })),
);
