import type { SuccessorStore } from '../../core/delivery/failover.ts';
import { providerHost } from '../../core/model/channels.ts';
import type { NotificationContent, NotificationRow } from '../../core/model/notification.ts';

/** Content as it is kept, with its tenant and the place of its row in the stream. */
export type KeptContent = NotificationContent & {
  readonly tenant_id: string;
  readonly sequence?: string;
  /** Nothing is left of it but the mark. */
  readonly erased_at?: string;
};

interface Tables {
  readonly log: Map<string, Record<string, unknown>>;
  readonly content: Map<string, KeptContent>;
  row(log_id: string): NotificationRow | undefined;
}

/** Successors of failover among rows and contents in memory. */
export function memorySuccessors({ log, content: contents, row }: Tables): SuccessorStore {
  return {
    copyContent: async ({ log_id, tenant_id }, successor) => {
      const content = contents.get(log_id);
      if (content?.fallback === undefined) return undefined;
      const { sequence: _, fallback, ...rest } = content;
      if (!contents.has(successor.log_id)) {
        contents.set(successor.log_id, { ...rest, recipient: fallback.recipient, sequence: '0' });
      }
      const { integration_config_id } = fallback;
      const provider_host = integration_config_id === undefined ? providerHost(fallback.recipient) : undefined;
      return {
        ...(integration_config_id !== undefined && { integration_config_id }),
        ...(provider_host !== undefined && { provider_host }),
        recipient_hash: `hash of ${tenant_id}/${fallback.recipient}`,
      };
    },
    put: async (successor) => {
      const stored = row(successor.log_id);
      if (stored === undefined) log.set(successor.log_id, { ...successor });
      return stored ?? successor;
    },
  };
}
