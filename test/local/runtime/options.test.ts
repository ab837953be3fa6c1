import { describe, expect, it } from 'vitest';
import { parseCommand } from '../../../src/local/runtime/options.ts';
import { UsageError } from '../../../src/terminal/command-line.ts';

describe('the command line of the local runtime', () => {
  it('takes everything that the usage names', () => {
    const args =
      '--empty --data dir --base-interval 0.5 --port 8080 --cors-origin http://localhost:1 --cors-origin https://a.example'.split(
        ' ',
      );
    expect(parseCommand([...args, '--schedule', 'rate(1 minute)'])).toEqual({
      empty: true,
      help: false,
      dataDir: 'dir',
      baseIntervalSeconds: 0.5,
      port: 8080,
      corsOrigins: ['http://localhost:1', 'https://a.example'],
      schedule: 'rate(1 minute)',
    });
    expect(parseCommand(['--schedule=off'])).toEqual({ empty: false, help: false, schedule: 'off' });
  });

  it.each([
    [['--unknown'], /--unknown/],
    [['positional'], /positional/],
    [['--base-interval', 'soon'], /--base-interval must be a number of seconds.*"soon"/],
    [['--base-interval', '0'], /--base-interval/],
    [['--base-interval', ''], /--base-interval/],
    [['--port', '70000'], /--port must be a whole number from 0 to 65535.*"70000"/],
    [['--schedule', 'never'], /--schedule: .*"never".*or write off/],
    [['--data', ''], /--data needs a directory/],
    [['--cors-origin', '*'], /--cors-origin must be an origin.*"\*"/],
    [['--cors-origin', 'https://app.example/'], /--cors-origin/],
    [['--cors-origin', 'http://app.example'], /--cors-origin/],
  ])('refuses %j, naming what is wrong', (args, message) => {
    expect(() => parseCommand(args)).toThrow(UsageError);
    expect(() => parseCommand(args)).toThrow(message);
  });
});
