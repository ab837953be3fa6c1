/** Why a file that the operator named cannot be read, without the words of the system where there are plainer ones. */
export function unreadableFile(path: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
  if (code === 'ENOENT') return `There is no file ${path}.`;
  if (code === 'EISDIR') return `${path} is a folder, not a file.`;
  if (code === 'EACCES') return `You may not read the file ${path}.`;
  return `${path} cannot be read (${code}).`;
}

/** Why a file cannot be written that the operator named. */
export function unwritableFile(path: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
  if (code === 'ENOENT') return `${path} cannot be written: its folder does not exist.`;
  if (code === 'EISDIR') return `${path} is a folder, not a file.`;
  if (code === 'EACCES') return `You may not write the file ${path}.`;
  return `${path} cannot be written (${code}).`;
}
