import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Problem } from '../../src/core/model/problem.ts';
import { problemBody } from '../../src/operator-service/refusals.ts';
import { CONSOLE_ROUTES } from '../../src/operator-service/routes.ts';
import { type Operations, startOperations } from '../support/cli/operations.ts';

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
}, 60_000);
afterAll(() => ops?.stop());

const PATH = { log_id: 'NL1', operation_id: 'OP1', email_id: 'EM1', key_id: 'K1' };

describe('a refusal of the console', () => {
  it.each([...CONSOLE_ROUTES.map(({ key }) => key), ''])(
    'of "%s" says the remedy and a command that the shell knows',
    async (key) => {
      const { remedy, command = '' } = problemBody(
        new Problem('conflict', 'It has changed.'),
        true,
        CONSOLE_ROUTES.find((route) => route.key === key),
        PATH,
      );
      expect(remedy).not.toBe('');
      expect(command).toMatch(/^npm run ops -- .* --local$/);
      const words = command.replace('npm run ops -- ', '').split(' ');
      const [first = '', second = ''] = words;
      const help = await ops.run([first, ...(['dlq', 'emails', 'keys'].includes(first) ? [second] : []), '--help']);
      expect(help.code).toBe(0);
      for (const flag of words.filter((word) => word.startsWith('--'))) expect(help.out).toContain(flag);
    },
  );
});
