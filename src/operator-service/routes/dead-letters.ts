import { createHash } from 'node:crypto';
import { type DeadGroup, groupDead } from '../../core/operator/dead-letters/dead-groups.ts';
import { NONE } from '../../core/operator/search-filter.ts';
import { type DeadLetterGroup, deadLettersQuery } from '../contract/dead-letters.ts';
import { shellCommand } from '../contract/shell-command.ts';
import { credentialRepair } from '../credential-repair.ts';
import { readDead } from '../dead-rows.ts';
import type { ConsoleDeps } from '../deps.ts';
import { type RouteTable, route } from '../route.ts';

/** Rows that one answer reads: about 2,000 read units, and less than a second. */
const MOST_ROWS = 2_000;

/** Dead notifications by cause: one repair, one action. */
export function deadLetterRoutes(deps: ConsoleDeps): RouteTable {
  return {
    'GET /api/dead-letters': route('GET /api/dead-letters', deadLettersQuery, async ({ input }) => {
      const { rows, total, complete } = await readDead({ ...input, most: MOST_ROWS }, deps);
      return { groups: groupDead(rows).map((group) => viewOf(group, input.tenant, deps)), total, complete };
    }),
  };
}

function viewOf(group: DeadGroup, tenant: string | undefined, deps: ConsoleDeps): DeadLetterGroup {
  const { local } = deps;
  const { channel, failure_reason, error_type, integration, sample } = group;
  const key = JSON.stringify([channel, failure_reason, error_type, integration, tenant]);
  const last_error = error_type ?? NONE;
  const chosen = [
    ...['--channel', channel, '--failure-reason', failure_reason],
    ...['--last-error', last_error, '--integration', integration ?? NONE],
    ...(tenant === undefined ? [] : ['--tenant', tenant]),
  ];
  return {
    group_id: createHash('sha256').update(key).digest('base64url').slice(0, 16),
    ...group,
    repair: credentialRepair(group, deps),
    filter: {
      channel,
      failure_reason,
      last_error,
      integration: integration ?? NONE,
      ...(tenant !== undefined && { tenant }),
    },
    commands: [
      { label: 'See why', command: shellCommand('show', local, sample.slice(0, 1)) },
      { label: 'Preview', command: shellCommand('replay', local, [...chosen, '--dry-run']) },
      { label: 'Redrive', command: shellCommand('replay', local, chosen) },
      { label: 'Redrive the whole queue', command: shellCommand('dlq redrive', local, ['--channel', channel]) },
    ],
  };
}
