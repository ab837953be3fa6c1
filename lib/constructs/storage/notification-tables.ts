import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { TABLES, withChanges } from '../../../src/adapters/dynamodb/schema.ts';
import { createTable, type TableProps } from './create-table.ts';
import { present } from './encryption.ts';

/** The tables of notifications (src/adapters/dynamodb/schema.ts). */
export class NotificationTables extends Construct {
  readonly log: Table;
  readonly content: Table;
  readonly retryLog: Table;
  readonly pipelineState: Table;
  readonly #apiKeys: Table | undefined;
  readonly dataKeys: Table;
  readonly audit: Table;

  constructor(scope: Construct, id: string, props: TableProps) {
    super(scope, id);
    this.log = createTable(this, 'Log', TABLES.notification_log, props);
    this.content = createTable(this, 'Content', TABLES.notification_content, props);
    this.retryLog = createTable(this, 'RetryLog', TABLES.notification_retry_log, props);
    const { pipeline_state } = TABLES;
    const breakers = props.config.outcomes ? withChanges(pipeline_state) : pipeline_state;
    this.pipelineState = createTable(this, 'PipelineState', breakers, props);
    if (props.config.api !== false) this.#apiKeys = createTable(this, 'ApiKeys', TABLES.api_keys, props);
    this.audit = createTable(this, 'Audit', TABLES.audit, props);
    this.dataKeys = createTable(this, 'DataKeys', TABLES.data_keys, props);
  }

  get apiKeys(): Table {
    return present(this.#apiKeys, 'api');
  }
}
