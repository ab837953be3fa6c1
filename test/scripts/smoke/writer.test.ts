import { runInNewContext } from 'node:vm';
import { App } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import type { SmokeAccount } from '../../../tools/smoke/account.ts';
import { ROW_CHECKS } from '../../../tools/smoke/checks.ts';
import { smokeStack } from '../../../tools/smoke/stack.ts';
import { writerPolicy } from '../../../tools/smoke/writer.ts';
import { cliContext } from '../../support/lib/synthesize.ts';

/** Whether IAM lets a writer put these columns, by the words of the policy. */
function byPolicy(columns: readonly string[]): boolean {
  const allowed = writerPolicy().Condition['ForAllValues:StringEquals']['dynamodb:Attributes'];
  return columns.every((column) => allowed.includes(column));
}

/** Runs the check of the writer's rights on an account whose IAM decides so. */
async function check(lets: (columns: readonly string[]) => boolean, keepsNothing = false): Promise<string[]> {
  const stored = new Map<unknown, object>();
  const account: Pick<SmokeAccount, 'putAsWriter' | 'row' | 'id'> = {
    async putAsWriter(row) {
      const put = lets(Object.keys(row));
      if (put && !keepsNothing) stored.set(row['log_id'], row);
      return put ? { put } : { put, message: 'not authorized' };
    },
    id: (name) => `smoke-${name}`,
    row: async (log_id) => stored.get(log_id) as Readonly<Record<string, unknown>> | undefined,
  };
  await ROW_CHECKS.find(({ name }) => name === 'rights of writers')?.run(account as SmokeAccount);
  return [...stored.keys()].map(String);
}

describe("the smoke test of the writers' rights", () => {
  it('passes when IAM does what the policy says', async () => expect(await check(byPolicy)).toEqual(['smoke-writer']));

  it.each(['work_queue', 'claim_until', 'record_due'])('fails when a writer can put %s', async (column) => {
    const lets = (columns: readonly string[]) => byPolicy(columns.filter((one) => one !== column));
    await expect(check(lets)).rejects.toThrow(`a writer could put ${column}`);
  });

  it('fails when a writer can put nothing', async () => {
    await expect(check(() => false)).rejects.toThrow("a put of the document's columns was denied");
  });

  it('fails when a put is answered and leaves no row', async () => {
    await expect(check(byPolicy, true)).rejects.toThrow();
  });

  describe('puts as a function', () => {
    const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
    const template = Template.fromStack(smokeStack(app, 'noreply@your-domain.example', '123456789012'));

    it('with the rights of the runbook, and of the key', () => {
      const policies = Object.values(template.findResources('AWS::IAM::Policy')).map(({ Properties }) => Properties);
      const writers = policies.filter(({ PolicyName }) => PolicyName.startsWith('SmokeWriter'));
      const [onTable, ...others] = writers.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
      const withStream = template.findResources('AWS::DynamoDB::Table', { Properties: { StreamSpecification: {} } });
      const [table] = Object.keys(withStream);
      expect(onTable).toEqual({ ...writerPolicy(), Resource: { 'Fn::GetAtt': [table, 'Arn'] } });
      expect(others.map(({ Action }) => Action)).toEqual([['kms:GenerateDataKey', 'kms:Decrypt']]);
    });

    /** Runs the function's code with a client of DynamoDB whose puts end so. */
    async function put(send: (input: object) => Promise<unknown>): Promise<unknown> {
      const [writer] = Object.values(
        template.findResources('AWS::Lambda::Function', {
          Properties: {
            Code: { ZipFile: Match.anyValue() },
            Environment: { Variables: { TABLE_NAME: Match.anyValue() } },
          },
        }),
      );
      const exported: { handler?: (item: object) => Promise<unknown> } = {};
      class DynamoDBClient {
        send = ({ input }: PutItemCommand) => send(input);
      }
      class PutItemCommand {
        readonly input: object;
        constructor(input: object) {
          this.input = input;
        }
      }
      runInNewContext(writer?.['Properties'].Code.ZipFile, {
        require: () => ({ DynamoDBClient, PutItemCommand }),
        exports: exported,
        process: { env: { TABLE_NAME: 'log' } },
      });
      return exported.handler?.({ log_id: { S: 'x' } });
    }

    it('whose code tells a denied put from one that failed', async () => {
      const inputs: object[] = [];
      expect(await put(async (input) => void inputs.push(input))).toEqual({ put: true });
      expect(inputs).toEqual([{ TableName: 'log', Item: { log_id: { S: 'x' } } }]);
      const error = (name: string) => Object.assign(new Error('no'), { name });
      expect(await put(() => Promise.reject(error('AccessDeniedException')))).toEqual({ put: false, message: 'no' });
      await expect(put(() => Promise.reject(error('ThrottlingException')))).rejects.toThrow('no');
    });
  });
});

it('the stack of the smoke test leaves nothing: its destruction is judged by that', () => {
  const context = { ...cliContext(), 'aws:cdk:bundling-stacks': [] };
  const stack = smokeStack(new App({ context }), 'noreply@mail.your-domain.jp', '111122223333');
  const resources = Object.entries<{ DeletionPolicy?: string }>(Template.fromStack(stack).toJSON()['Resources']);
  const kept = resources.filter(([, { DeletionPolicy = 'Delete' }]) => DeletionPolicy !== 'Delete');
  expect(kept.map(([id]) => id)).toEqual([]);
});
