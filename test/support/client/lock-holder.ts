import * as fs from 'node:fs/promises';
import { lockSpool } from '../../../src/client/spool/spool-lock.ts';

await lockSpool(process.argv[2] ?? '', { fs });
process.stdout.write('locked\n');
setInterval(() => {}, 60_000);
