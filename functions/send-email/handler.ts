import { SESClient } from '@aws-sdk/client-ses';
import { createEmailSender } from '../../src/adapters/email/sender.ts';
import { ACCOUNT } from '../../src/core/pacing/admission.ts';
import { bindOnAws } from '../shared/channel/channel-on-aws.ts';
import { emailEnv } from '../shared/runtime/env.ts';
import { bindFunction } from '../shared/runtime/observability.ts';
import { createPacer, readAccountLimits } from '../shared/runtime/pacer.ts';

export const handler = bindFunction(emailEnv, (env, observability) =>
  bindOnAws('email', env, observability, (credentials) => ({
    sender: createEmailSender({
      // One call per attempt: our own retries decide. Without a handler the client would look for the files of an AWS
      // profile at once, and no function has them.
      client: new SESClient({ maxAttempts: 1, requestHandler: {} }),
      credentials,
      from: env.EMAIL_SENDER,
      configurationSet: env.SES_CONFIGURATION_SET,
    }),
    receiver: ACCOUNT,
    account: (...parts) => createPacer(...parts, readAccountLimits),
  })),
);
