import { EventBus } from 'aws-cdk-lib/aws-events';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Deployed, outcomesEnv } from '../../../functions/shared/runtime/env.ts';
import { allow, on, useTableKey } from '../function/permissions.ts';
import { ServiceFunction, SHORT_TIMEOUT } from '../function/service-function.ts';
import { listStreams, readStreams, readStreamsOf, type StreamSources } from '../function/triggers.ts';
import { ADDRESS_FACTS, BREAKERS, ENDED_EMAILS, ENDED_NOTIFICATIONS } from '../indexing/stream-filters.ts';
import { failureQueue } from '../lanes/queues.ts';
import type { Stage } from '../stage.ts';

/** Tells producers what became of what they handed over, from what the tables' streams show. */
export class Outcomes extends Construct {
  readonly bus: EventBus;
  readonly teller: ServiceFunction;
  /** Stream positions of what the bus did not take within a day. */
  readonly failures: Queue;

  constructor(scope: Construct, id: string, { config, tables, newsletters, encryption }: Stage) {
    super(scope, id);
    const newsletterTables = newsletters?.newsletterTables;
    this.bus = new EventBus(this, 'Bus', {
      eventBusName: `notification-retry-${config.stage}`,
      description: `notification-retry ${config.stage}: what became of notifications, providers, newsletters and members`,
    });
    this.failures = failureQueue(this, 'Failures');
    const sources: StreamSources = {
      Notifications: [tables.log, ENDED_NOTIFICATIONS],
      Providers: [tables.pipelineState, BREAKERS],
      ...(newsletterTables && {
        Emails: [newsletterTables.emails, ENDED_EMAILS],
        Members: [newsletterTables.members, ADDRESS_FACTS],
      }),
    };
    const members = newsletterTables?.members;
    this.teller = new ServiceFunction(this, 'Teller', {
      config,
      name: 'outcomes',
      description: 'Tells producers what became of notifications, providers, newsletters and members',
      timeout: SHORT_TIMEOUT,
      environment: {
        OUTCOMES_BUS: this.bus.eventBusName,
        ...(members && { MEMBERS_TABLE: members.tableName }),
      } satisfies Omit<Deployed<typeof outcomesEnv>, 'MEMBERS_TABLE'>,
      permissions: [
        allow(['events:PutEvents'], [this.bus.eventBusArn]),
        readStreamsOf(...Object.values(sources).map(([table]) => table)),
        ...(members ? [on(members, 'Query')] : []),
        useTableKey(encryption.dataKey),
      ],
      wildcards: [listStreams()],
    });
    readStreams(this.teller, sources, 2, this.failures);
  }
}
