/** Why a file that the operator named cannot be read, without the words of the system where there are plainer ones. */
export function unreadableFile(path: string, cause: unknown): string {
  return codeOf(cause) === 'ENOENT' ? `There is no file ${path}.` : faultOf(path, 'read', codeOf(cause));
}

/** Why a file cannot be written that the operator named. */
export function unwritableFile(path: string, cause: unknown): string {
  if (codeOf(cause) === 'ENOENT') return `${path} cannot be written: its folder does not exist.`;
  return faultOf(path, 'write', codeOf(cause));
}

const DONE = { read: 'read', write: 'written' } as const;

function faultOf(path: string, verb: keyof typeof DONE, code: string): string {
  if (code === 'EISDIR') return `${path} is a folder, not a file.`;
  if (code === 'EACCES') return `You may not ${verb} the file ${path}.`;
  return `${path} cannot be ${DONE[verb]} (${code}).`;
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
}
