import { describe, expect, it } from 'vitest';
import { parseSendingJobOptions } from '../../../src/batch/sending-job/sending-job-options.ts';
import { EXIT_USAGE, OperatorError } from '../../../src/terminal/errors.ts';

describe('the arguments of the sending job', () => {
  it('are the id of an e-mail, and switches', () => {
    const read = { email_id: 'EM_1', wait: false, json: false, local: false };
    expect(parseSendingJobOptions(['--email-id=EM_1'])).toEqual(read);
    expect(parseSendingJobOptions(['--email-id', 'EM_1', '--wait', '--json', '--local'])).toEqual({
      ...read,
      wait: true,
      json: true,
      local: true,
    });
    expect(parseSendingJobOptions(['--help'])).toBe('help');
  });

  it.each([
    ['no e-mail', [], '--email-id'],
    ['an unknown option', ['--email-id=e', '--force'], '--force'],
    ['a bad id', ['--email-id=a b'], '--email-id'],
    ['a value for a switch', ['--email-id=e', '--wait=yes'], '--wait'],
    ['an argument without an option', ['--email-id=e', 'f'], 'f'],
  ])('are refused for %s, above all else', (_, args, named) => {
    const refused = expect.objectContaining({ exitCode: EXIT_USAGE });
    expect(() => parseSendingJobOptions(args)).toThrow(refused);
    expect(() => parseSendingJobOptions(args)).toThrow(OperatorError);
    expect(() => parseSendingJobOptions(args)).toThrow(named);
    expect(() => parseSendingJobOptions(args)).toThrow(/^.+\nAdd --help to see what it takes\.$/);
  });
});
