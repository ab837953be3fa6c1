import type { Command } from 'commander';
import { queueCounts } from '../../../adapters/sqs/queue-counts.ts';
import type { RedriveOptions, RedriveResult } from '../../../adapters/sqs/redrive.ts';
import { redriveByCopy } from '../../../adapters/sqs/redrive-by-copy.ts';
import { redriveByTask } from '../../../adapters/sqs/redrive-by-task.ts';
import type { Channel } from '../../../core/model/channels.ts';
import { confirmed } from '../../../terminal/confirm.ts';
import { rate } from '../../../terminal/option-values.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { channelOption } from '../../session/filter-options.ts';
import { opsCommand, sayNext } from '../../session/next-step.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { countOf } from './dead-letter-rows.ts';
import { lockRedrive } from './redrive-lock.ts';

interface DlqRedriveOptions {
  readonly channel: Channel;
  readonly rate?: number;
  readonly yes?: boolean;
}

export function addDlqRedrive(program: Command, context: CliContext): void {
  const command = program
    .command('redrive')
    .description("move a channel's dead letters back to their lanes: each notification starts anew")
    .addOption(channelOption().makeOptionMandatory())
    .option('--rate <N>', 'messages a second, 1 to 500; else as fast as SQS does it', rate)
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `
Remove the cause first: what fails again is dead again. It is SQS's own redrive, all messages of the queue or none, one
at a time; it goes on if this command is interrupted.

Examples:
  npm run ops -- dlq redrive --channel slack
  npm run ops -- dlq redrive --channel email --rate 10 --yes --json`,
    );
  onDeployment<DlqRedriveOptions>(command, context, redrive);
}

async function redrive(session: Session, options: DlqRedriveOptions): Promise<number> {
  const { channel } = options;
  const { deployment, sqs, json, terminal } = session;
  const { visible, in_flight } = await queueCounts(sqs, deployment.dead_letter_queues[channel]);
  const waiting = visible + in_flight;
  if (waiting === 0) {
    if (json) terminal.print(`${JSON.stringify({ moved: 0 })}\n`);
    terminal.say(`The dead-letter queue of ${channel} is empty: there is nothing to redrive.\n`);
    return 0;
  }
  if (!(await confirmed(`Redrive about ${countOf(waiting)} of ${channel}?`, options.yes, session))) return 0;
  const progress = showProgress(session);
  try {
    const { moved, unreadable, held } = await move(session, channel, {
      ...(options.rate !== undefined && { rate: options.rate }),
      pause: session.pause,
      onProgress: ({ moved: done, total }) => progress.update({ verb: 'moved', done, total }),
    });
    progress.end();
    terminal.print(json ? `${JSON.stringify({ moved })}\n` : `${countOf(moved)} of ${channel} moved to their lanes.\n`);
    if (unreadable > 0) {
      terminal.say(
        `${unreadable} are no messages of ours and stay: see \`${opsCommand('dlq list', session)}\`, then drop them.\n`,
      );
    }
    if (held > 0) terminal.say(`${held} are held by somebody who looks at them: redrive again in a while.\n`);
    if (!json) sayNext('What becomes of them', 'status', session);
    return 0;
  } finally {
    progress.end();
  }
}

async function move(session: Session, channel: Channel, options: RedriveOptions): Promise<RedriveResult> {
  const { deployment, sqs, local, stateDirectory } = session;
  const url = deployment.dead_letter_queues[channel];
  if (!local) return redriveByTask(sqs, url, options);
  const unlock = lockRedrive(stateDirectory, channel);
  try {
    return await redriveByCopy(sqs, url, deployment.lane_queues, options);
  } finally {
    unlock();
  }
}
