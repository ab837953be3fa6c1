import { startLocalRuntime } from '../../../src/local/runtime/runtime.ts';

/** Runs a runtime in its own process, which a test can kill: `run-runtime.ts OPTIONS-AS-JSON`. */
const runtime = await startLocalRuntime(JSON.parse(process.argv[2] ?? '{}'));
process.once('SIGTERM', () => void runtime.stop().then(() => process.exit(0)));
process.stdout.write('ready\n');
