import { describe, expect, it } from 'vitest';
import { parseRetryJobOptions, USAGE } from '../../../src/batch/retry-job/retry-job-options.ts';
import { OperatorError } from '../../../src/terminal/errors.ts';

describe('the job’s arguments', () => {
  it('are all optional', () => {
    expect(parseRetryJobOptions([])).toEqual({ request: {}, wait: false, json: false, local: false });
  });

  it('become the sweep’s request', () => {
    const args = [
      '--max-retry-count=3',
      '--channel=email',
      '--priority',
      'urgent',
      '--tenant=T',
      '--limit=9',
      '--dry-run',
      '--list',
      '--force-retry',
      '--wait',
      '--json',
      '--local',
    ];
    expect(parseRetryJobOptions(args)).toEqual({
      request: {
        max_retry_count: 3,
        channel: 'email',
        priority: 'urgent',
        tenant: 'T',
        limit: 9,
        dry_run: true,
        list: true,
        force_retry: true,
      },
      wait: true,
      json: true,
      local: true,
    });
  });

  it('may say of an option without a value whether it is on, as the document does', () => {
    const off = parseRetryJobOptions(['--dry-run=false', '--force-retry=false', '--wait=false', '--help=false']);
    expect(off).toEqual({ request: {}, wait: false, json: false, local: false });
    const on = parseRetryJobOptions(['--dry-run=true', '--force-retry=true', '--json=true']);
    expect(on).toEqual({ request: { dry_run: true, force_retry: true }, wait: false, json: true, local: false });
  });

  it('say in the help which notifications a lower limit ends', () => {
    expect(USAGE.replaceAll(/\s+/g, ' ')).toMatch(/--max-retry-count=N .* used up N retries is given up: MAX_RETRIES/);
  });

  it.each([
    [['--list'], /--list: needs --dry-run/],
    [['--colour=red'], /--colour: unknown option/],
    [['--channel=fax'], /--channel=fax: must be one of email, slack, teams, webhook/],
    [['--channel'], /--channel=: must be one of/],
    [['--priority=HIGH'], /--priority=HIGH: must be one of urgent/],
    [['--limit=0'], /--limit=0: must be a whole number, 1 or more/],
    [['--limit=1.5'], /--limit=1.5/],
    [['--max-retry-count=-1'], /--max-retry-count=-1: must be a whole number, 0 or more/],
    [['--max-retry-count=abc'], /--max-retry-count=abc/],
    [['--tenant='], /--tenant=: must be/],
    [['--dry-run=yes'], /--dry-run=yes: must be true or false/],
    [['--wait='], /--wait=: must be true or false/],
    [['now'], /now: not an option/],
  ])('%j are refused with their name', (args, message) => {
    expect(() => parseRetryJobOptions(args)).toThrow(message);
    expect(() => parseRetryJobOptions(args)).toThrow(OperatorError);
  });

  it('are refused all at once', () => {
    expect(() => parseRetryJobOptions(['--a', '--channel=x', 'y'])).toThrow(/--a: .*\n*y: not.*\n*--channel=x/);
  });
});
