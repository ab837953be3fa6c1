export type Folder = 'spool' | 'failed';

export const SPOOL = '.spool';
/** In data/failed: it is not a whole spool file. */
export const CORRUPT = '.corrupt';

/** In data/failed: nobody has been told of it yet. */
const UNREPORTED = 'untold-';

const ENDINGS: Readonly<Record<Folder, readonly string[]>> = { spool: [SPOOL], failed: [SPOOL, CORRUPT] };

/** Why a file is none of the spool's, and nothing is done to it; undefined when it is. */
export function foreign(folder: Folder, file: string): string | undefined {
  const endings = ENDINGS[folder];
  if (endings.some((ending) => file.endsWith(ending))) return undefined;
  return `its name does not end in ${endings.join(' or ')}: it is none of the spool's`;
}

/** The name in data/failed under which a file waits for somebody to be told of it. */
export const unreportedName = (file: string) => `${UNREPORTED}${file}`;

export const isUnreported = (file: string) => file.startsWith(UNREPORTED) && foreign('failed', file) === undefined;

/** The name that it has once somebody was told. */
export const reportedName = (file: string) => (isUnreported(file) ? file.slice(UNREPORTED.length) : file);

/** @param random tells apart what is set aside under the same name twice */
export const corruptName = (file: string, random: string) => `${file}.${random}${CORRUPT}`;

/** However often it is sent again and refused, it is marked once: a file system has a longest name. */
export const refusedName = (origin: string, mark: string) =>
  `${originName(origin).slice(0, -SPOOL.length)}-refused-${mark}${SPOOL}`;

/** The name that it had in the spool at first. */
export const originName = (file: string) =>
  reportedName(file)
    .replace(/\.[0-9a-f]{8}\.corrupt$/, '')
    .replace(/(-refused-[0-9a-f]{12})+(?=\.spool$)/, '');
