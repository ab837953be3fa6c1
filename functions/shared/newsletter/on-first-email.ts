import type { BulkProvider } from '../../../src/core/newsletter/model/provider.ts';
import type { Renderings } from '../../../src/core/newsletter/sending/send-deps.ts';
import { onFirstUse } from '../runtime/on-first-use.ts';

/** SES, whose client is loaded with the first email: most invocations only read or record. */
export function sesOnFirstEmail(configurationSet: string) {
  const ses = onFirstUse(async () => (await import('./ses-access.ts')).createSesAccess(configurationSet));
  const provider: BulkProvider = { send: async (call) => (await ses()).provider.send(call) };
  return { provider, senderFault: async (from: string) => (await ses()).senderFault(from) };
}

/** The renderings, whose HTML parser is loaded with the first email. */
export function renderingsOnFirstEmail(): Renderings {
  const renderings = onFirstUse(async () =>
    (await import('../../../src/adapters/post/post-renderer.ts')).createRenderings(),
  );
  return { of: async (...args) => (await renderings()).of(...args) };
}
