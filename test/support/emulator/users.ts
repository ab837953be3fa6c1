import type { JsonObject } from '../../../src/local/support/json.ts';
import { withBatchActions } from './adapt-template.ts';
import type { DeployedStack } from './deployed-stack.ts';
import type { Credentials } from './ministack.ts';

/** Actions on resources, as one statement of a policy. */
export interface Right {
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly condition?: JsonObject;
}

/** Makes a user who has these rights and no others. */
export async function createUser(stack: DeployedStack, name: string, rights: readonly Right[]): Promise<Credentials> {
  await stack.aws(['iam', 'create-user', '--user-name', name]);
  const document: JsonObject = {
    Version: '2012-10-17',
    Statement: rights.map(({ actions, resources, condition }) => ({
      Effect: 'Allow',
      Action: actions,
      Resource: resources,
      ...(condition && { Condition: condition }),
    })),
  };
  const policy = ['--policy-name', 'rights', '--policy-document', JSON.stringify(withBatchActions(document))];
  await stack.aws(['iam', 'put-user-policy', '--user-name', name, ...policy]);
  const { AccessKey } = JSON.parse(await stack.aws(['iam', 'create-access-key', '--user-name', name]));
  return { accessKeyId: AccessKey.AccessKeyId, secretAccessKey: AccessKey.SecretAccessKey };
}

export function without(action: string, rights: readonly Right[]): Right[] {
  return rights.flatMap(({ actions, resources }) => {
    const kept = actions.filter((one) => one !== action);
    return kept.length > 0 ? [{ actions: kept, resources }] : [];
  });
}
