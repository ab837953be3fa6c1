import { spawnSync } from 'node:child_process';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';

const TYPES = ['feat', 'fix', 'perf', 'refactor', 'docs', 'test', 'build', 'ci', 'style', 'chore', 'revert'];
const HEADER = new RegExp(`^(${TYPES.join('|')})(\\([a-z0-9-]+\\))?!?: \\S`);
const LONGEST_SUBJECT = 120;

/** What is wrong with a commit message (https://www.conventionalcommits.org); empty for a good message. */
export function faultsOfMessage(message: string): string[] {
  const [subject = '', second = ''] = message.split('\n');
  const faults: string[] = [];
  if (!HEADER.test(subject)) {
    faults.push(
      `the subject must be "<type>: <what changes>" or "<type>(<scope>): …", with a type of ${TYPES.join(', ')}`,
    );
  }
  if (subject.length > LONGEST_SUBJECT) {
    faults.push(`the subject must have at most ${LONGEST_SUBJECT} characters, it has ${subject.length}`);
  }
  if (subject.endsWith('.')) faults.push('the subject must not end with a full stop');
  if (second !== '') faults.push('the second line must be empty: the body says why, after an empty line');
  return faults;
}

/** @param range revisions as `git log` takes them, such as `origin/main..HEAD` */
function messagesIn(range: string): string[] {
  const args = ['log', '--no-merges', '--format=%B%x00', '--end-of-options', range, '--'];
  const { status, stdout } = spawnSync('git', args, { cwd: PROJECT_ROOT, encoding: 'utf8', stdio: [0, 'pipe', 2] });
  if (status !== 0) {
    process.stderr.write(`${range} is no range of commits, such as origin/main..HEAD.\n`);
    process.exit(2);
  }
  return stdout.split(/\s*\0\s*/).filter((message) => message !== '');
}

if (import.meta.filename === process.argv[1]) {
  const [range = 'origin/main..HEAD'] = process.argv.slice(2);
  const messages = messagesIn(range);
  const wrong = messages.filter((message) => faultsOfMessage(message).length > 0);
  for (const message of wrong) {
    const faults = faultsOfMessage(message).map((fault) => `  ${fault}\n`);
    process.stderr.write(`${message.split('\n')[0]}\n${faults.join('')}`);
  }
  process.stdout.write(`${messages.length} commit messages in ${range}, ${wrong.length} to be corrected.\n`);
  process.exitCode = wrong.length > 0 ? 1 : 0;
}
