import * as real from 'node:fs/promises';
import type { FileSystem } from '../../../src/client/spool/durable-files.ts';
import { errno } from './faulty-fs.ts';

/** What is left of a disk. It may be changed at any time, as other programs do. */
export interface Room {
  bytes: number;
  inodes: number;
  /** Whether the next call of this kind fails as on a broken disk. */
  broken?: ((call: string) => boolean) | undefined;
  onError?: (code: string) => void;
}

/**
 * The real file system with as much room as `room` says: a new file takes an inode, its content takes bytes, and what is
 * removed gives both back. A write without room has written what fitted.
 */
export function smallDisk(room: Room): FileSystem {
  const sizes = new Map<string, number>();
  const give = (path: string) => {
    if (!sizes.has(path)) return;
    room.inodes += 1;
    room.bytes += sizes.get(path) ?? 0;
    sizes.delete(path);
  };
  const failure = (code: string) => {
    room.onError?.(code);
    return errno(code);
  };
  const check = (call: string) => {
    if (room.broken?.(call)) throw failure('EIO');
  };
  const fs: FileSystem = {
    ...real,
    open: (async (path: string, flags?: string, mode?: number) => {
      check('open');
      const isNew = flags?.startsWith('w') === true;
      if (isNew && room.inodes < 1) {
        // A name that exists is found before room for it is looked for.
        const exists = await real.stat(path).then(
          () => true,
          () => false,
        );
        throw exists ? errno('EEXIST') : failure('ENOSPC');
      }
      const handle = await real.open(path, flags, mode);
      if (!isNew) return handle;
      room.inodes -= 1;
      sizes.set(path, 0);
      return new Proxy(handle, {
        get(target, name) {
          const method: unknown = Reflect.get(target, name);
          if (typeof method !== 'function') return method;
          if (name === 'sync' || name === 'close') {
            return async () => {
              if (name === 'sync') check('sync');
              return method.apply(target);
            };
          }
          if (name !== 'writeFile') return method.bind(target);
          return async (content: string) => {
            check('write');
            const bytes = Buffer.from(content);
            const fits = bytes.subarray(0, Math.max(0, room.bytes));
            await target.writeFile(fits);
            sizes.set(path, fits.length);
            room.bytes -= fits.length;
            if (fits.length < bytes.length) throw failure('ENOSPC');
          };
        },
      });
    }) as unknown as FileSystem['open'],
    rename: async (from, to) => {
      check('rename');
      await real.rename(from, to);
      give(String(to));
      const size = sizes.get(String(from));
      sizes.delete(String(from));
      if (size !== undefined) sizes.set(String(to), size);
    },
    unlink: async (path) => {
      check('unlink');
      await real.unlink(path);
      give(String(path));
    },
  };
  return fs;
}
