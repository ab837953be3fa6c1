import { STACK } from './deployed-stack.ts';
import { ACCOUNT } from './ministack.ts';
import type { Right } from './users.ts';

/** The outputs of the deployed stack, by name. */
export type Outputs = Readonly<Record<string, string>>;

export const tableOf = (name = '') => `arn:aws:dynamodb:us-east-1:${ACCOUNT}:table/${name}`;

export const queueOf = (url = '') => `arn:aws:sqs:us-east-1:${ACCOUNT}:${url.split('/').at(-1)}`;

/** The ARNs of the queues in an output whose value is a JSON object, at whatever depth. */
export function queuesIn(output = '{}'): string[] {
  const urls = (value: unknown): string[] =>
    typeof value === 'string' ? [value] : Object.values(value as object).flatMap(urls);
  return urls(JSON.parse(output)).map(queueOf);
}

/** Every command finds the stack first. */
export const FIND_STACK: Right = {
  actions: ['cloudformation:DescribeStacks'],
  resources: [`arn:aws:cloudformation:us-east-1:${ACCOUNT}:stack/${STACK}/*`],
};
