import { existsSync, realpathSync } from 'node:fs';
import { enableCompileCache, isBuiltin, registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { serveParent } from '../../processes/serve-parent.ts';
import type { FunctionError, Invocation, InvocationResult, Outcome } from './invocation.ts';

/**
 * A function's process: loads the bundle once, then runs one invocation after the other, as a Lambda sandbox does:
 * `function-process.ts CODE_DIRECTORY HANDLER`. Plain `node` runs this file, so its imports must need no build either.
 */
type Handler = (event: unknown, context: object) => unknown;

const [directory = '', handlerName = ''] = process.argv.slice(2);

// Every process loads one of the same few bundles. Without the cache half of its start is compiling.
enableCompileCache();

await serveParent(async () => {
  const handler = await loadHandler();
  process.on('message', (message) => invoke(handler, message as Invocation));
  return {};
});

async function loadHandler(): Promise<Handler> {
  const dot = handlerName.lastIndexOf('.');
  const [file, name] = [handlerName.slice(0, dot), handlerName.slice(dot + 1)];
  const path = ['.mjs', '.js', '.cjs']
    .map((end) => join(directory, file + end))
    .find((candidate) => existsSync(candidate));
  if (path === undefined) throw new Error(`${directory} has no ${file}.mjs for the handler ${handlerName}`);
  refusePackages();
  const loaded = await import(pathToFileURL(path).href);
  const handler = loaded[name] ?? loaded.default?.[name];
  if (typeof handler !== 'function') throw new Error(`${path} exports no function ${name}`);
  return handler;
}

/** On Lambda there are the function's files and Node's modules. Here a package that its bundle lacks would be found nearby. */
function refusePackages(): void {
  const code = pathToFileURL(join(realpathSync(directory), '/')).href;
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      if (isBuiltin(found.url) || found.url.startsWith(code)) return found;
      throw new Error(`The code of the function lacks ${specifier}, and Lambda would not find it either.`);
    },
  });
}

async function invoke(handler: Handler, { id, event, deadline }: Invocation): Promise<void> {
  const before = cpuUsed();
  const result = await run(handler, event, contextOf(id, deadline));
  process.send?.({ result, cpu_us: [before, cpuUsed()] } satisfies Outcome);
}

async function run(handler: Handler, event: string, context: object): Promise<InvocationResult> {
  try {
    return { ok: true, result: JSON.stringify((await handler(JSON.parse(event), context)) ?? null) };
  } catch (error) {
    return { ok: false, error: describe(error) };
  }
}

function cpuUsed(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function contextOf(awsRequestId: string, deadline: number): object {
  const functionName = process.env['AWS_LAMBDA_FUNCTION_NAME'] ?? '';
  return {
    awsRequestId,
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:${process.env['AWS_REGION']}:000000000000:function:${functionName}`,
    memoryLimitInMB: process.env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'],
    logGroupName: process.env['AWS_LAMBDA_LOG_GROUP_NAME'],
    logStreamName: process.env['AWS_LAMBDA_LOG_STREAM_NAME'],
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  };
}

function describe(error: unknown): FunctionError {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error) };
  return { errorType: error.name, errorMessage: error.message, trace: error.stack?.split('\n') ?? [] };
}
