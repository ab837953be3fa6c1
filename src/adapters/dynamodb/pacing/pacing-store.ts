import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import {
  type BudgetReader,
  checkSteps,
  type Guard,
  type PacingStore,
  type Registers,
  type Step,
} from '../../../core/pacing/registers.ts';
import { BUDGET_KIND } from '../schema.ts';
import { type Item, toValue } from '../table/item.ts';
import { getItem, queryAll } from '../table/reads.ts';

/** PacingStore on PipelineState: one item for e-mail, and per receiver; a register per attribute. A change is one write. */
export function createPacingStore(client: DynamoDBClient, table: string): PacingStore & BudgetReader {
  const read = async (id: string): Promise<Registers> => {
    return toRegisters(await getItem(client, table, keyOf(id)));
  };
  return {
    read,
    async receivers(channel) {
      const range = ['id', 'begins_with', `${channel}#`] as const;
      return (await queryAll(client, { table, key: { kind: BUDGET_KIND }, range })).map(toRegisters);
    },
    async change(id, steps) {
      checkSteps(steps);
      try {
        const { Attributes } = await client.send(
          new UpdateItemCommand({
            TableName: table,
            Key: keyOf(id),
            ...expressionsOf(steps),
            ReturnValues: 'ALL_NEW',
            ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
          }),
        );
        return { applied: true, registers: toRegisters(Attributes) };
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
        // Emulators do not return the item of a failed condition; AWS does.
        return { applied: false, registers: error.Item ? toRegisters(error.Item) : await read(id) };
      }
    },
  };
}

const keyOf = (id: string) => ({ kind: { S: BUDGET_KIND }, id: { S: id } });

function toRegisters(item: Item | undefined): Registers {
  if (item === undefined) return {};
  const { kind: _, id: __, ...registers } = unmarshall(item);
  return registers as Registers;
}

type Expressions = Pick<
  UpdateItemCommandInput,
  'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
>;

function expressionsOf(steps: readonly Step[]): Expressions {
  const names: Record<string, string> = {};
  const values: Record<string, ReturnType<typeof toValue>> = {};
  const value = (placeholder: string, of: number | string) => {
    values[placeholder] = toValue(of);
    return placeholder;
  };
  const sets: string[] = [];
  const removes: string[] = [];
  const conditions: string[] = [];
  steps.forEach((step, i) => {
    const name = `#r${i}`;
    names[name] = step.name;
    if ('set' in step) sets.push(`${name} = ${value(`:s${i}`, step.set)}`);
    else if ('add' in step) {
      sets.push(`${name} = if_not_exists(${name}, ${value(`:b${i}`, step.base)}) + ${value(`:a${i}`, step.add)}`);
    } else removes.push(name);
    if (step.guard !== undefined)
      conditions.push(conditionOf(name, step.guard, (part, of) => value(`${part}${i}`, of)));
  });
  const update = [sets.length > 0 && `SET ${sets.join(', ')}`, removes.length > 0 && `REMOVE ${removes.join(', ')}`];
  return {
    UpdateExpression: update.filter(Boolean).join(' '),
    ...(conditions.length > 0 && { ConditionExpression: conditions.join(' AND ') }),
    ExpressionAttributeNames: names,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
}

function conditionOf(
  name: string,
  { at_least, at_most, or_absent }: Guard,
  value: (part: string, of: number) => string,
): string {
  const range = [
    at_least !== undefined && `${name} >= ${value(':l', at_least)}`,
    at_most !== undefined && `${name} <= ${value(':m', at_most)}`,
  ].filter(Boolean);
  const within = range.length > 0 ? range.join(' AND ') : `attribute_exists(${name})`;
  return or_absent ? `(attribute_not_exists(${name}) OR (${within}))` : `(${within})`;
}
