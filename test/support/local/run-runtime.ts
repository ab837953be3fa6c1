import { startLocalRuntime } from '../../../src/local/runtime/runtime.ts';

/** Runs a runtime in its own process, which a test can kill: `run-runtime.ts ASSEMBLY WORK_DIR DATA_DIR`. */
const [assemblyDir = '', workDir = '', dataDir = ''] = process.argv.slice(2);
await startLocalRuntime({ assemblyDir, workDir, dataDir, console: false });
process.stdout.write('ready\n');
