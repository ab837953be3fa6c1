import { setTimeout } from 'node:timers/promises';
import { SESv2Client } from '@aws-sdk/client-sesv2';
import { createTestCounts } from '../../adapters/dynamodb/intake/request-counts.ts';
import { createDryRunStore } from '../../adapters/dynamodb/newsletter/email-store.ts';
import { createCandidateReader } from '../../adapters/nql/candidate-reader.ts';
import { createPartSegments, createRenderings } from '../../adapters/post/post-renderer.ts';
import { createBulkProvider } from '../../adapters/ses-v2/bulk-provider.ts';
import { createSenderFault } from '../../adapters/ses-v2/sender-identity.ts';
import { Problem } from '../../core/model/problem.ts';
import { createLateExclusions } from '../../core/newsletter/sending/exclusion-checks.ts';
import { createSendPacing } from '../../core/newsletter/sending/send-pacing.ts';
import { policyIn } from '../../core/pacing/account.ts';
import { Pacer } from '../../core/pacing/pacer.ts';
import type { OperatorDeps } from '../deps.ts';
import { memberAccess } from '../members/members.ts';
import { emailAccess } from './email-access.ts';

/** What it takes to write an email: to see what it would do, to test it, to publish and to replace it. */
export function draftAccess(deps: OperatorDeps) {
  const { deployment, dynamodb, local, clock } = deps;
  const { clients, tables, newsletter_configuration_set: configurationSet } = deployment;
  const { members, sealing, hashKey } = memberAccess(deps);
  const access = emailAccess(deps);
  // A local runtime without an SES takes any sender, and sends nothing.
  const ses = local && clients.ses === undefined ? undefined : new SESv2Client({ ...clients.ses, maxAttempts: 1 });
  const pause = (ms: number) => setTimeout<void>(ms);
  // Commands and the console send a few mails, by the rates that the deployment's functions noted in the budget.
  let known: Promise<Pacer> | undefined;
  const pacer = () => {
    known ??= access.budgets.read('email').then((registers) => {
      const policy = policyIn(registers);
      return new Pacer({ store: access.budgets, channel: 'email', policy, clock, random: Math.random, workers: 1 });
    });
    return known;
  };
  const budget: Pick<Pacer, 'reserve' | 'exceeded'> = {
    reserve: async (asks) => (await pacer()).reserve(asks),
    exceeded: async (limit) => (await pacer()).exceeded(limit),
  };
  return {
    ...access,
    hashKey,
    members,
    sealing,
    candidates: createCandidateReader(members, sealing),
    parts: createPartSegments(),
    renderings: createRenderings(),
    exclusions: createLateExclusions(members, sealing),
    dry_runs: createDryRunStore(dynamodb, tables.emails, clock),
    pacing: createSendPacing(budget, { clock, pause }),
    pause,
    countTests: createTestCounts(dynamodb, tables.pipeline_state),
    senderFault: ses === undefined ? async () => undefined : createSenderFault(ses),
    /** @throws Problem */
    provider: {
      send: async (call: Parameters<ReturnType<typeof createBulkProvider>['send']>[0]) => {
        if (ses === undefined || configurationSet === undefined) {
          const why = 'This deployment does not say by which configuration set it sends newsletters: deploy it anew.';
          throw new Problem('conflict', why);
        }
        return createBulkProvider({ client: ses, configurationSet }).send(call);
      },
    },
  };
}
