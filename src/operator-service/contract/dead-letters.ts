import * as v from 'valibot';
import type { Channel } from '../../core/model/channels.ts';
import { CHANNELS } from '../../core/model/channels.ts';
import type { ErrorType } from '../../core/model/error-types.ts';
import { id } from './fields.ts';
import type { OperationFilter } from './operations.ts';
import type { ShellCommand } from './page.ts';

/** `GET /api/dead-letters?channel=&tenant=`. */
export const deadLettersQuery = v.strictObject({
  channel: v.optional(v.picklist(CHANNELS)),
  tenant: v.optional(id),
});

/** Dead notifications of one cause: one repair, one action. */
export interface DeadLetterGroup {
  /** Stable while the group lives: a key for the page. */
  readonly group_id: string;
  readonly channel: Channel;
  readonly failure_reason: ErrorType;
  readonly error_type: ErrorType | null;
  /** integration_config_id, or the host of the recipients; null: neither. */
  readonly integration: string | null;
  /** The last answer of the newest one, without addresses. */
  readonly error_message: string | null;
  readonly response_code: string | null;
  readonly count: number;
  readonly tenants: number;
  /** When the first and the last of them were given up. */
  readonly oldest_at: string;
  readonly newest_at: string;
  /** The newest few log_ids. */
  readonly sample: readonly string[];
  readonly remedy: string;
  /** The line for the shell that repairs the cause; null: nothing in this system repairs it. */
  readonly repair: ShellCommand | null;
  /** For `POST /api/operations` with kind `redrive` or `give_up`, and for a link to the list. */
  readonly filter: OperationFilter;
  readonly commands: readonly ShellCommand[];
}

export interface DeadLetters {
  readonly groups: readonly DeadLetterGroup[];
  readonly total: number;
  /** False: there are more dead notifications than were read; counts and total are lower bounds. */
  readonly complete: boolean;
}
