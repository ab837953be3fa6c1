import { SESv2Client } from '@aws-sdk/client-sesv2';
import { createBulkProvider } from '../../../src/adapters/ses-v2/bulk-provider.ts';
import { createSenderFault } from '../../../src/adapters/ses-v2/sender-identity.ts';
import { lean } from '../runtime/clients/lean.ts';
import { plainJson } from './plain-json.ts';

/** In a module of its own, so that SES's client is loaded with the first call, and not at each cold start. */
export function createSesAccess(configurationSet: string) {
  // A repeated call could send twice, so the client never repeats one.
  const client = plainJson(lean(new SESv2Client({ maxAttempts: 1 })), ['SendBulkEmail']);
  return { provider: createBulkProvider({ client, configurationSet }), senderFault: createSenderFault(client) };
}
