import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createNotificationClient, NotHandedOverError, SpoolLockedError } from '../../src/client/index.ts';
import { type BatchTally, sendMailing } from './send-batch.ts';

const USAGE = `Usage: main --run ID --recipients FILE --message FILE [--slice N] [--json]
URL and key of the API: NOTIFICATION_API_URL, NOTIFICATION_API_KEY.`;

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());

const { run, recipients, message, slice, json } = readArguments();
const client = orUsageError(() => createNotificationClient());
// Notifications that an earlier run could not hand over go first (adr-006-spool-retention.md, 原則 3).
await client.flush({ signal: stop.signal }).catch((error: unknown) => {
  if (!(error instanceof SpoolLockedError)) throw error;
  process.stderr.write(`${error.message}\n`);
});
const tally = await sendMailing(
  client,
  { run, recipients, slice, message: JSON.parse(readFileSync(message, 'utf8')) },
  (soFar) => process.stderr.write(process.stderr.isTTY ? `\r${summary(soFar)}` : `${summary(soFar)}\n`),
  stop.signal,
).catch(endKeptNowhere);
process.stderr.write(process.stderr.isTTY ? '\n' : '');
process.stdout.write(
  json ? `${JSON.stringify({ run, ...tally, interrupted: stop.signal.aborted })}\n` : `${summary(tally)}\n`,
);
if (stop.signal.aborted) process.stderr.write('Stopped. Start again with the same --run to go on.\n');
process.exitCode = tally.refused > 0 || stop.signal.aborted ? 1 : 0;

function readArguments() {
  const { values } = orUsageError(() =>
    parseArgs({
      options: {
        run: { type: 'string' },
        recipients: { type: 'string' },
        message: { type: 'string' },
        slice: { type: 'string', default: '1000' },
        json: { type: 'boolean', default: false },
      },
    }),
  );
  const { run, recipients, message, json } = values;
  const slice = Number(values.slice);
  if (run === undefined || recipients === undefined || message === undefined) endWithUsage('An argument is missing.');
  if (!(slice >= 1)) endWithUsage('--slice must be a number from 1.');
  return { run, recipients, message, slice, json };
}

/** Shows the user the messages of parseArgs and of the client about wrong arguments and settings. */
function orUsageError<T>(create: () => T): T {
  try {
    return create();
  } catch (error) {
    if (error instanceof TypeError) endWithUsage(error.message);
    throw error;
  }
}

/** Neither the API nor the disk took some notifications. A second start with the same --run sends them. */
function endKeptNowhere(error: unknown): never {
  if (!(error instanceof NotHandedOverError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}

function endWithUsage(because: string): never {
  process.stderr.write(`${because}\n${USAGE}\n`);
  process.exit(2);
}

function summary({ accepted, repeated, spooled, refused }: BatchTally): string {
  return `${accepted} accepted (${repeated} of them before), ${spooled} spooled, ${refused} refused`;
}
