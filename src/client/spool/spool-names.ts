export type Folder = 'spool' | 'failed';

export const SPOOL = '.spool';
/** The ending of a file in data/failed that is not a whole spool file. */
export const CORRUPT = '.corrupt';

/** The prefix of a file in data/failed that has not been reported yet. */
const UNREPORTED = 'untold-';

const ENDINGS: Readonly<Record<Folder, readonly string[]>> = { spool: [SPOOL], failed: [SPOOL, CORRUPT] };

/** Why a name is not the name of a spool file, so that the file is left alone; undefined if it is one. */
export function nameFault(folder: Folder, file: string): string | undefined {
  const endings = ENDINGS[folder];
  if (endings.some((ending) => file.endsWith(ending))) return undefined;
  return `its name does not end in ${endings.join(' or ')}, so it is not a file of the spool`;
}

/** The name of a file in data/failed until it is reported. */
export const unreportedName = (file: string) => `${UNREPORTED}${file}`;

export const isUnreported = (file: string) => file.startsWith(UNREPORTED) && nameFault('failed', file) === undefined;

export const reportedName = (file: string) => (isUnreported(file) ? file.slice(UNREPORTED.length) : file);

/** @param random distinguishes two corrupt files with the same name */
export const corruptName = (file: string, random: string) => `${file}.${random}${CORRUPT}`;

/**
 * The name has one mark even if a file is sent again and refused many times, because the length of a name is limited.
 */
export const refusedName = (origin: string, mark: string) =>
  `${originName(origin).slice(0, -SPOOL.length)}-refused-${mark}${SPOOL}`;

/** The first name of a file in the spool. */
export const originName = (file: string) =>
  reportedName(file)
    .replace(/\.[0-9a-f]{8}\.corrupt$/, '')
    .replace(/(-refused-[0-9a-f]{12})+(?=\.spool$)/, '');
