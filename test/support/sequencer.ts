import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Flows that run at a time: they mostly wait, and the other workers compute meanwhile. */
const FLOWS_AT_ONCE = 2;

/** Starts the flows among the other files with a process of their own, not one after the other: the cores would idle. */
export class SpreadFlows extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const of = (choose: (name: string) => boolean) => sorted.filter(({ project }) => choose(project.name));
    const flows = of((name) => name === 'flow');
    const parts = of((name) => name === 'parts');
    const spread = flows.splice(0, FLOWS_AT_ONCE);
    const gap = Math.ceil(parts.length / (flows.length + 1));
    for (;;) {
      spread.push(...parts.splice(0, gap));
      const flow = flows.shift();
      if (flow === undefined) break;
      spread.push(flow);
    }
    return [...spread, ...parts, ...of((name) => name !== 'flow' && name !== 'parts')];
  }
}
