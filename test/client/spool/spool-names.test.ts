import { expect, it } from 'vitest';
import {
  corruptName,
  isUnreported,
  nameFault,
  originName,
  refusedName,
  reportedName,
  unreportedName,
} from '../../../src/client/spool/spool-names.ts';

const MARK = '0123456789ab';

it.each([
  ['spool', 'a.spool', undefined],
  ['failed', 'a.spool', undefined],
  ['failed', 'a.spool.01234567.corrupt', undefined],
  ['spool', 'a.corrupt', 'its name does not end in .spool, so it is not a file of the spool'],
  ['failed', 'notes.txt', 'its name does not end in .spool or .corrupt, so it is not a file of the spool'],
] as const)('in the folder %s the name %s is one of a spool file, or not', (folder, file, fault) => {
  expect(nameFault(folder, file)).toBe(fault);
});

it('a file is unreported while its name says so, and is a file of the spool', () => {
  expect(['untold-a.spool', 'a.spool', 'untold-a.txt', 'a-untold-.spool'].map(isUnreported)).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect(reportedName(unreportedName('a.spool'))).toBe('a.spool');
  expect(reportedName('untold-a.txt')).toBe('untold-a.txt');
});

it.each([
  ['as it was spooled', 'a.spool'],
  ['unreported', 'untold-a.spool'],
  ['corrupt', corruptName('a.spool', '01234567')],
  ['refused', refusedName('a.spool', MARK)],
  ['refused again', refusedName(refusedName('a.spool', MARK), MARK)],
  ['refused twice by an older version', `a-refused-${MARK}-refused-${MARK}.spool`],
  ['refused, and unreported', unreportedName(refusedName('a.spool', MARK))],
])('the first name of a file is known when it is %s', (_, file) => expect(originName(file)).toBe('a.spool'));

it.each(['a.spool.01234567.corrupt.spool', `a-refused-${MARK}.spool.spool`])(
  'no part in the middle of a name is taken for a mark: %s',
  (file) => expect(originName(file)).toBe(file),
);
