import { SESv2Client, SendBulkEmailCommand } from '@aws-sdk/client-sesv2';
import { withDirectCalls } from '../../../src/adapters/direct-calls/direct-calls.ts';
import { createBulkProvider } from '../../../src/adapters/ses-v2/bulk-provider.ts';
import { createSenderFault } from '../../../src/adapters/ses-v2/sender-identity.ts';
import { lean } from '../runtime/clients/lean.ts';

/** In a module of its own, so that SES's client is loaded with the first call, and not at each cold start. */
export function createSesAccess(configurationSet: string) {
  // A repeated call could send twice, so the client never repeats one.
  const client = lean(new SESv2Client({ maxAttempts: 1 }));
  withDirectCalls(client, { SendBulkEmail: SendBulkEmailCommand }, { once: true });
  return { provider: createBulkProvider({ client, configurationSet }), senderFault: createSenderFault(client) };
}
