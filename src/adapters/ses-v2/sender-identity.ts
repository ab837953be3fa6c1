import { GetEmailIdentityCommand, NotFoundException, type SESv2Client } from '@aws-sdk/client-sesv2';
import { senderMailbox } from '../email/address.ts';

/** Seconds for which a verified identity is trusted. */
const TRUSTED_MS = 300_000;

/** Why SES would refuse a sender. If SES does not answer, the sender counts as verified: the sending finds out. */
export function createSenderFault(client: SESv2Client, now: () => number = Date.now) {
  const verifiedUntil = new Map<string, number>();

  async function isVerified(identity: string): Promise<boolean> {
    if (now() < (verifiedUntil.get(identity) ?? 0)) return true;
    try {
      const { VerifiedForSendingStatus = false } = await client.send(
        new GetEmailIdentityCommand({ EmailIdentity: identity }),
      );
      if (VerifiedForSendingStatus) verifiedUntil.set(identity, now() + TRUSTED_MS);
      return VerifiedForSendingStatus;
    } catch (error) {
      return !(error instanceof NotFoundException);
    }
  }

  return async (from: string): Promise<string | undefined> => {
    const address = senderMailbox(from);
    if (address === undefined) return 'The sender of the newsletter is no address.';
    const domain = address.slice(address.lastIndexOf('@') + 1);
    const labels = domain.split('.');
    const parents = labels.slice(0, -1).map((_, i) => labels.slice(i).join('.'));
    for (const identity of [...parents, address]) if (await isVerified(identity)) return undefined;
    return (
      `SES has not verified ${domain} in this region, so it would refuse every mail of this newsletter. ` +
      'Verify the domain in the SES console under Configuration, Identities, or change the sender of the newsletter.'
    );
  };
}
