import * as fs from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { createClient, type NotificationClient } from './client.ts';
import { createApi } from './handover/api.ts';
import { createRequest, createTokenCall } from './handover/api-request.ts';
import { type ClientOptions, settingsOf, warnOfPlainHttp } from './settings.ts';
import { createSpool } from './spool/spool.ts';

export type { NotificationClient, SendOptions } from './client.ts';
export type { BatchProgress } from './hand-over-or-spool.ts';
// biome-ignore lint/performance/noBarrelFile: this is the entry point of a package, and callers tell these errors apart.
export { NotHandedOverError } from './hand-over-or-spool.ts';
export type { PageToken, TokenRequest } from './handover/api-request.ts';
export type { BatchNotification, FailedAttempt, Notification, Problem, Result } from './handover/notification.ts';
export type { ClientOptions } from './settings.ts';
export type { FlushOptions, FlushProgress, FlushReport, GivenUp, SpoolSize } from './spool/flush.ts';
export { SpoolLockedError } from './spool/spool-lock.ts';

/** retry-and-idempotency-design.md §3. */
const ATTEMPTS = 3;
const LONGEST_WAIT_MS = 30_000;

/** Creates a client of the API for producers. @throws TypeError that names each wrong option */
export function createNotificationClient(
  options: ClientOptions = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
): NotificationClient {
  const settings = settingsOf(options, env);
  warnOfPlainHttp(settings.url);
  const clock = () => new Date();
  const { spoolDirectory: directory, failedDirectory, keys } = settings;
  return createClient(settings, {
    post: createApi({ ...settings, clock }),
    createToken: createTokenCall(createRequest({ ...settings, clock })),
    spool: createSpool({ fs, clock, directory, failedDirectory, keys }),
    fs,
    clock,
    random: Math.random,
    // An aborted signal ends the pause early.
    pause: (ms, signal) => setTimeout(ms, undefined, signal && { signal }).catch(() => {}),
    attempts: ATTEMPTS,
    longestWaitMs: LONGEST_WAIT_MS,
  });
}
