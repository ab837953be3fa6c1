import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { PROJECT_ROOT } from './project-root.ts';

// A script, because the shells of Mac, Linux and Windows do not agree on how a command sets an environment variable.
if (spawnSync('java', ['-version'], { stdio: 'ignore' }).status !== 0) {
  process.stderr.write(
    "Amazon's DynamoDB Local needs Java 17 or newer, and there is no `java` in the PATH.\n" +
      'Install one (https://adoptium.net), or run `npm test`, which needs no Java on Linux x64.\n',
  );
  process.exit(1);
}
const vitest = join(PROJECT_ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const { status } = spawnSync(process.execPath, [vitest, 'run', 'test/contract', ...process.argv.slice(2)], {
  cwd: PROJECT_ROOT,
  env: { ...process.env, WITH_DYNAMODB_LOCAL: '1' },
  stdio: 'inherit',
});
process.exit(status ?? 1);
