import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type JsonObject, objectAt, textAt } from '../../support/json.ts';

/** A stack as `cdk synth` wrote it. */
export interface SynthesizedStack {
  readonly name: string;
  /** The cloud assembly's directory. Asset paths of the template are relative to it. */
  readonly directory: string;
  readonly resources: Readonly<Record<string, JsonObject>>;
  readonly parameters: Readonly<Record<string, JsonObject>>;
  readonly outputs: Readonly<Record<string, JsonObject>>;
}

/**
 * Reads the one stack with Lambda functions from a cloud assembly.
 * @throws Error that names the file and what is wrong with it
 */
export function readAssembly(directory: string): SynthesizedStack {
  const manifest = readObject(join(directory, 'manifest.json'));
  const stacks = Object.entries(objectAt(manifest['artifacts'], 'artifacts in manifest.json'))
    .filter(([, artifact]) => isObject(artifact) && artifact['type'] === 'aws:cloudformation:stack')
    .map(([id, artifact]) => readStack(directory, id, objectAt(artifact, id)))
    .filter((stack) => Object.values(stack.resources).some((resource) => resource['Type'] === 'AWS::Lambda::Function'));
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
  const properties = objectAt(artifact['properties'], `artifacts.${id}.properties`);
  const file = textAt(properties['templateFile'], `artifacts.${id}.properties.templateFile`);
  const template = readObject(join(directory, file));
  return {
    name: typeof properties['stackName'] === 'string' ? properties['stackName'] : id,
    directory,
    resources: section(template, 'Resources', file),
    parameters: section(template, 'Parameters', file),
    outputs: section(template, 'Outputs', file),
  };
}

function section(template: JsonObject, name: string, file: string): Record<string, JsonObject> {
  const entries = Object.entries(objectAt(template[name] ?? {}, `${name} in ${file}`));
  return Object.fromEntries(entries.map(([id, value]) => [id, objectAt(value, `${name}.${id} in ${file}`)]));
}

function readObject(path: string): JsonObject {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`${path} cannot be read; is it a synthesized CDK app?`, { cause });
  }
  return objectAt(JSON.parse(text), path);
}
