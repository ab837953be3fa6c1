export type Folder = 'spool' | 'failed';

export const SPOOL = '.spool';
/** In data/failed: it is not a whole spool file. */
export const CORRUPT = '.corrupt';

const ENDINGS: Readonly<Record<Folder, readonly string[]>> = { spool: [SPOOL], failed: [SPOOL, CORRUPT] };

/** Why a file is none of the spool's, and nothing is done to it; undefined when it is. */
export function foreign(folder: Folder, file: string): string | undefined {
  const endings = ENDINGS[folder];
  if (endings.some((ending) => file.endsWith(ending))) return undefined;
  return `its name does not end in ${endings.join(' or ')}: it is none of the spool's`;
}
