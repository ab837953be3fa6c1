import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { NEWSLETTER_TABLES, type TableSchema, withChanges } from '../../../src/adapters/dynamodb/schema.ts';
import { createTable, type TableProps } from './create-table.ts';

/** The tables of newsletters (src/adapters/dynamodb/schema.ts). */
export class NewsletterTables extends Construct {
  readonly newsletters: Table;
  readonly members: Table;
  readonly emails: Table;
  readonly batches: Table;
  readonly recipients: Table;

  constructor(scope: Construct, id: string, props: TableProps) {
    super(scope, id);
    const { outcomes, newsletters } = props.config;
    const told = (schema: TableSchema) => (outcomes && newsletters === true ? withChanges(schema) : schema);
    this.newsletters = createTable(this, 'Newsletters', NEWSLETTER_TABLES.newsletters, props);
    this.members = createTable(this, 'Members', told(NEWSLETTER_TABLES.members), props);
    this.emails = createTable(this, 'Emails', told(NEWSLETTER_TABLES.emails), props);
    this.batches = createTable(this, 'Batches', NEWSLETTER_TABLES.email_batches, props);
    this.recipients = createTable(this, 'Recipients', NEWSLETTER_TABLES.email_recipients, props);
  }
}
