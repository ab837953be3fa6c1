import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { type JsonObject, object, read } from '../../support/json.ts';

/** A stack as `cdk synth` wrote it. */
export interface SynthesizedStack extends v.InferOutput<typeof template> {
  readonly name: string;
  /** The cloud assembly's directory. Asset paths of the template are relative to it. */
  readonly directory: string;
}

const section = v.optional(v.record(v.string(), object), {});
const template = v.pipe(
  v.object({ Resources: section, Parameters: section, Outputs: section }),
  v.transform(({ Resources: resources, Parameters: parameters, Outputs: outputs }) => {
    return { resources, parameters, outputs };
  }),
);
const stackArtifact = v.object({
  properties: v.object({ templateFile: v.string(), stackName: v.optional(v.string()) }),
});

/** The one stack with Lambda functions. @throws Error that names the file and what is wrong with it */
export function readAssembly(directory: string): SynthesizedStack {
  const { artifacts } = readFile(
    v.object({ artifacts: v.record(v.string(), object) }),
    join(directory, 'manifest.json'),
  );
  const stacks = Object.entries(artifacts)
    .filter(([, { type }]) => type === 'aws:cloudformation:stack')
    .map(([id, artifact]) => readStack(directory, id, artifact))
    .filter(({ resources }) => Object.values(resources).some(({ Type }) => Type === 'AWS::Lambda::Function'));
  const [stack, ...others] = stacks;
  if (stack === undefined)
    throw new Error(`${directory}: no stack with a Lambda function; the local runtime needs one`);
  if (others.length > 0) {
    const names = stacks.map((one) => one.name).join(', ');
    throw new Error(`${directory}: several stacks with Lambda functions (${names}); the local runtime runs one`);
  }
  return stack;
}

function readStack(directory: string, id: string, artifact: JsonObject): SynthesizedStack {
  const { templateFile, stackName = id } = read(stackArtifact, artifact, `artifacts.${id}`).properties;
  return { name: stackName, directory, ...readFile(template, join(directory, templateFile)) };
}

function readFile<S extends v.GenericSchema>(schema: S, path: string): v.InferOutput<S> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`${path} cannot be read; is it a synthesized CDK app?`, { cause });
  }
  return read(schema, JSON.parse(text), path);
}
