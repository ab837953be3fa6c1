import { createRequire } from 'node:module';
import { join } from 'node:path';

/** What a peer's process needs to know; JSON in its first argument. */
export interface PeerSettings {
  readonly peer: string;
  /** Folder with the peers' packages. */
  readonly tools: string;
  readonly port: number;
  readonly url: string;
  readonly secret: string;
  readonly body: string;
  readonly concurrency: number;
  readonly patience_seconds: number;
}

export type Send = (id: string) => Promise<void>;

/** A peer as its own documentation says to use it. */
export interface PeerQueue {
  enqueue(ids: readonly string[]): Promise<void>;
  work(send: Send): Promise<void>;
  /** Rows or entries about attempts that are kept. */
  records(): Promise<number>;
  /** Removes all jobs. */
  clear(): Promise<void>;
}

/** Loads a package of the tools' folder. The caller declares the part of it that it uses. */
export function load<T>({ tools }: PeerSettings, name: string): T {
  return createRequire(join(tools, 'package.json'))(name) as T;
}
