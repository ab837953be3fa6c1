import { flushCompileCache } from 'node:module';
import { afterAll } from 'vitest';

// Workers load the same modules. Without this, each would store what it has compiled at its end, when no other needs it.
afterAll(() => flushCompileCache());
