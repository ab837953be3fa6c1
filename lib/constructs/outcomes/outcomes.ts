import { Duration } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { type FilterCriteria, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { OutcomesEnv } from '../../../functions/shared/runtime/env.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { acknowledgeWildcard } from '../function/nag-acknowledgements.ts';
import { allow, useTableKey } from '../function/permissions.ts';
import { ServiceFunction, SHORT_TIMEOUT } from '../function/service-function.ts';
import { failureQueue } from '../lanes/dead-letters.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NewsletterTables } from '../storage/newsletter-tables.ts';
import type { NotificationTables } from '../storage/notification-tables.ts';
import { ADDRESS_FACTS, BREAKERS, ENDED_EMAILS, ENDED_NOTIFICATIONS } from './outcome-stream-filters.ts';

export interface OutcomesProps {
  readonly config: StageConfig;
  readonly tables: NotificationTables;
  /** Where newsletters are sent. */
  readonly newsletterTables?: NewsletterTables | undefined;
  readonly encryption: Encryption;
}

/** Tells producers what became of what they handed over, from what the tables' streams show. */
export class Outcomes extends Construct {
  readonly bus: EventBus;
  readonly teller: ServiceFunction;
  /** Stream positions of what the bus did not take within a day. */
  readonly failures: Queue;

  constructor(scope: Construct, id: string, { config, tables, newsletterTables, encryption }: OutcomesProps) {
    super(scope, id);
    this.bus = new EventBus(this, 'Bus', {
      eventBusName: `notification-retry-${config.stage}`,
      description: `notification-retry ${config.stage}: what became of notifications, providers, newsletters and members`,
    });
    this.failures = failureQueue(this, 'Failures');
    const sources: Readonly<Record<string, readonly [Table, FilterCriteriaList]>> = {
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
      } satisfies Omit<OutcomesEnv, 'MEMBERS_TABLE'>,
      permissions: [
        allow(['events:PutEvents'], [this.bus.eventBusArn]),
        allow(
          ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
          Object.values(sources).map(([table]) => streamOf(table)),
        ),
        allow(['dynamodb:ListStreams'], ['*']),
        ...(members ? [allow(['dynamodb:Query'], [members.tableArn])] : []),
        useTableKey(encryption.dataKey),
      ],
    });
    acknowledgeWildcard(
      this.teller.executionRole,
      '*',
      "Lambda's stream poller asks for dynamodb:ListStreams, which knows no resources.",
    );
    for (const [name, [table, filters]] of Object.entries(sources)) this.read(name, table, filters);
  }

  private read(name: string, table: Table, filters: FilterCriteriaList): void {
    this.teller.addEventSourceMapping(name, {
      eventSourceArn: streamOf(table),
      // The day before the part was switched on is told, too: nobody was told of it.
      startingPosition: StartingPosition.TRIM_HORIZON,
      filters: [...filters],
      batchSize: 100,
      maxBatchingWindow: Duration.seconds(1),
      // Order matters only within an item, and DynamoDB keeps that order.
      parallelizationFactor: 2,
      reportBatchItemFailures: true,
      bisectBatchOnError: true,
      // As of the due-indexer: an hour before DynamoDB drops a change, its position goes into the failure queue.
      maxRecordAge: Duration.hours(23),
      onFailure: new SqsDlq(this.failures),
    });
  }
}

type FilterCriteriaList = readonly ReturnType<typeof FilterCriteria.filter>[];

function streamOf({ tableStreamArn, node }: Table): string {
  if (tableStreamArn === undefined) throw new Error(`${node.path} has no stream: its schema must have one`);
  return tableStreamArn;
}
