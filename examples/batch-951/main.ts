import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createNotificationClient, NotHandedOverError, SpoolLockedError } from '../../src/client/index.ts';
import { type BatchTally, sendMailing } from './send-batch.ts';

const USAGE = `Usage: main --run ID --recipients FILE --message FILE [--slice N] [--json]
Where the API is and with which key: NOTIFICATION_API_URL, NOTIFICATION_API_KEY.`;

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());

const { run, recipients, message, slice, json } = readArguments();
const client = usable(() => createNotificationClient());
// What an earlier run could not hand over goes first (adr-006-spool-retention.md, 原則 3).
await client.flush({ signal: stop.signal }).catch((error: unknown) => {
  if (!(error instanceof SpoolLockedError)) throw error;
  process.stderr.write(`${error.message}\n`);
});
const tally = await sendMailing(
  client,
  { run, recipients, slice, message: JSON.parse(readFileSync(message, 'utf8')) },
  (soFar) => process.stderr.write(process.stderr.isTTY ? `\r${summary(soFar)}` : `${summary(soFar)}\n`),
  stop.signal,
).catch(keptNowhere);
process.stderr.write(process.stderr.isTTY ? '\n' : '');
process.stdout.write(
  json ? `${JSON.stringify({ run, ...tally, interrupted: stop.signal.aborted })}\n` : `${summary(tally)}\n`,
);
if (stop.signal.aborted) process.stderr.write('Stopped. Start it again with the same --run to go on.\n');
process.exitCode = tally.refused > 0 || stop.signal.aborted ? 1 : 0;

function readArguments() {
  const { values } = usable(() =>
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
  if (run === undefined || recipients === undefined || message === undefined) misused('An argument is missing.');
  if (!(slice >= 1)) misused('--slice must be a number from 1.');
  return { run, recipients, message, slice, json };
}

/** What parseArgs and the client say of a wrong argument or setting is what its user should read. */
function usable<T>(create: () => T): T {
  try {
    return create();
  } catch (error) {
    if (error instanceof TypeError) misused(error.message);
    throw error;
  }
}

/** Not even the disk took some of them. Started again with the same --run, they are sent; the others are repeats. */
function keptNowhere(error: unknown): never {
  if (!(error instanceof NotHandedOverError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}

function misused(because: string): never {
  process.stderr.write(`${because}\n${USAGE}\n`);
  process.exit(2);
}

function summary({ accepted, repeated, spooled, refused }: BatchTally): string {
  return `${accepted} accepted (${repeated} of them before), ${spooled} spooled, ${refused} refused`;
}
