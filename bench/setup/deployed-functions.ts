import { join } from 'node:path';
import type { SynthesizedStack } from '../../src/local/emulator/template/assembly.ts';
import type { FunctionPlan } from '../../src/local/emulator/template/functions.ts';
import { type LocalPlan, planFrom } from '../../src/local/emulator/template/plan.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../src/local/emulator/template/references.ts';

export interface DeployedFunctions {
  readonly plan: LocalPlan;
  /** The folders under functions/ of all functions of the stack, sorted. */
  names(): string[];
  /** @param service folder under functions/ */
  planOf(service: string): FunctionPlan;
  /** Path of the function's bundle. */
  bundleOf(service: string): string;
}

/** @param sqsEndpoint base of the queue URLs; by default an address where nothing listens */
export function deployedFunctions(stack: SynthesizedStack, sqsEndpoint = 'http://127.0.0.1:9'): DeployedFunctions {
  const plan = planFrom(stack, { region: LOCAL_REGION, accountId: LOCAL_ACCOUNT, sqsEndpoint });
  const planOf = (service: string): FunctionPlan => {
    const found = plan.functions.find(({ environment }) => environment['POWERTOOLS_SERVICE_NAME'] === service);
    if (found === undefined) throw new Error(`The stack has no function whose service is ${service}`);
    return found;
  };
  return {
    plan,
    names: () => plan.functions.flatMap(({ environment }) => environment['POWERTOOLS_SERVICE_NAME'] ?? []).sort(),
    planOf,
    bundleOf(service) {
      const { codeDirectory, handler } = planOf(service);
      return join(codeDirectory, `${handler.split('.')[0]}.mjs`);
    },
  };
}

/** What a function's environment says. @throws Error where it lacks the variable */
export function variableOf({ name, environment }: FunctionPlan, variable: string): string {
  const value = environment[variable];
  if (value === undefined) throw new Error(`${name} has no ${variable} in its environment`);
  return value;
}

/** The deployed tables of notifications, from a channel function's environment. */
export function tableNames({ planOf }: Pick<DeployedFunctions, 'planOf'>) {
  const plan = planOf('send-webhook');
  return {
    notification_log: variableOf(plan, 'NOTIFICATION_LOG_TABLE'),
    notification_content: variableOf(plan, 'NOTIFICATION_CONTENT_TABLE'),
    notification_retry_log: variableOf(plan, 'NOTIFICATION_RETRY_LOG_TABLE'),
  };
}
