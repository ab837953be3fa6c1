import { join } from 'node:path';
import type { SynthesizedStack } from '../../src/local/emulator/template/assembly.ts';
import type { FunctionPlan } from '../../src/local/emulator/template/functions.ts';
import { type LocalPlan, planFrom } from '../../src/local/emulator/template/plan.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../src/local/emulator/template/references.ts';

export interface DeployedFunctions {
  readonly plan: LocalPlan;
  /** The folders under functions/ of all functions of the stack, sorted. */
  services(): string[];
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
    services: () => plan.functions.flatMap(({ environment }) => environment['POWERTOOLS_SERVICE_NAME'] ?? []).sort(),
    planOf,
    bundleOf(service) {
      const { codeDirectory, handler } = planOf(service);
      return join(codeDirectory, `${handler.split('.')[0]}.mjs`);
    },
  };
}
