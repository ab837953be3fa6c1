import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, numberAt, objectAt, textAt } from '../../support/json.ts';

export interface FunctionPlan {
  readonly name: string;
  /** Directory of the bundle. */
  readonly codeDirectory: string;
  /** `file.export`, as Lambda writes it. */
  readonly handler: string;
  readonly timeoutSeconds: number;
  readonly memoryMegabytes: number;
  readonly environment: Readonly<Record<string, string>>;
}

/** @throws Error that names the function and what is missing, such as an asset that was not bundled */
export function functionFrom(
  name: string,
  properties: JsonObject,
  metadata: JsonObject,
  assemblyDirectory: string,
): FunctionPlan {
  const asset = textAt(metadata['aws:asset:path'], `${name}: Metadata."aws:asset:path"`);
  const codeDirectory = join(assemblyDirectory, asset);
  if (!existsSync(codeDirectory)) throw new Error(`${name}: its bundle ${codeDirectory} is missing; synthesize again`);
  const variables = objectAt(objectAt(properties['Environment'] ?? {}, `${name}.Environment`)['Variables'] ?? {}, name);
  return {
    name,
    codeDirectory,
    handler: textAt(properties['Handler'], `${name}.Handler`),
    timeoutSeconds: numberAt(properties['Timeout'], `${name}.Timeout`, 3),
    memoryMegabytes: numberAt(properties['MemorySize'], `${name}.MemorySize`, 128),
    environment: Object.fromEntries(
      Object.entries(variables).map(([key, value]) => [key, textAt(value, `${name}: environment variable ${key}`)]),
    ),
  };
}
