import type { OperationKind, OperationStatus } from '../../src/application/contract/choices.ts';
import type { Word } from './badge.tsx';

/** What becomes of a notification (RowState), for people. */
const STATES: Readonly<Record<string, Word>> = {
  delivered: { name: 'Delivered', tone: 'good', meaning: 'The provider accepted it.' },
  claimed: { name: 'Sending', tone: 'busy', meaning: 'An attempt is under way.' },
  abandoned: {
    name: 'Interrupted',
    tone: 'busy',
    meaning: 'The worker of an attempt crashed; the next message or sweep takes over.',
  },
  due: { name: 'Due', tone: 'busy', meaning: 'Its time has come; the next sweep, or a queued message, sends it.' },
  waiting: { name: 'Waiting', tone: 'wait', meaning: 'It waits for its next retry.' },
  held: {
    name: 'Held',
    tone: 'wait',
    meaning: 'Its provider is down; it is sent when the provider is back, and uses up no retry.',
  },
  dead: { name: 'Dead', tone: 'bad', meaning: 'Given up, with a dead letter: it needs a person.' },
  stopped: {
    name: 'Stopped',
    tone: 'none',
    meaning: 'Given up without a dead letter: wrong recipient, cancelled, or dropped.',
  },
  set_aside: { name: 'Set aside', tone: 'bad', meaning: 'Its row is malformed; its writer has to correct it.' },
  not_taken_in: { name: 'Not taken in', tone: 'none', meaning: 'Not indexed yet, or left to its writer.' },
};

export const stateWord = (state: string): Word => STATES[state] ?? { name: state, tone: 'none', meaning: '' };

/** Causes, as a person would say them; the code stands beside them. */
const CAUSES: Readonly<Record<string, string>> = {
  NETWORK_TIMEOUT: 'The provider did not answer in time',
  UNKNOWN: 'The provider gave an unknown answer',
  SERVER_OVERLOAD: 'The provider is overloaded',
  RATE_LIMITED: 'The provider limits the rate',
  AUTH_TEMPORARY: 'The credential was refused for now',
  INVALID_RECIPIENT: 'The recipient does not exist',
  AUTH_FAILED: 'The credential is not accepted',
  FORMAT_ERROR: 'The provider refuses the content',
  PERMISSION_DENIED: 'The integration lacks a permission',
  MAX_RETRIES: 'All retries are used up',
  EXPIRED: 'Its time is over',
  CANCELLED: 'It was cancelled',
};

export const causeWord = (type: string): string => CAUSES[type] ?? type;

const CHANNEL_NAMES = { email: 'E-mail', slack: 'Slack', teams: 'Teams', webhook: 'Webhook' } as const;

export const KIND_WORDS: Readonly<
  Record<OperationKind, { readonly name: string; readonly does: string; readonly done: string }>
> = {
  redrive: { name: 'Redrive', does: 'Starts them again with a full budget of retries.', done: 'redriven' },
  retry: { name: 'Retry now', does: 'Attempts now what waits for its next retry.', done: 'queued' },
  cancel: { name: 'Cancel retries', does: 'Ends what waits; it is not sent.', done: 'cancelled' },
  give_up: {
    name: 'Dismiss',
    does: 'Keeps row and records, deletes the dead letters; they are not sent.',
    done: 'dismissed',
  },
  correct: {
    name: 'Change integration',
    does: 'Starts them again by another integration of their tenant, with a full budget of retries.',
    done: 'redriven by another integration',
  },
};

export const OPERATION_WORDS: Readonly<Record<OperationStatus, Word>> = {
  previewing: { name: 'Counting', tone: 'busy', meaning: 'What matches is being counted; nothing has changed.' },
  ready: { name: 'Ready', tone: 'wait', meaning: 'Waits for its start; nothing has changed.' },
  running: { name: 'Running', tone: 'busy', meaning: 'It is being done.' },
  paused: { name: 'Paused', tone: 'wait', meaning: 'It can be resumed.' },
  done: { name: 'Done', tone: 'good', meaning: 'Everything that was previewed is done.' },
  cancelled: { name: 'Cancelled', tone: 'none', meaning: 'What was done stays done; the rest was left.' },
  failed: { name: 'Failed', tone: 'bad', meaning: 'It stopped with an error, and can be resumed.' },
};

const EXCLUSIONS: Readonly<Record<string, string>> = {
  delivered: 'delivered already',
  claimed: 'being sent right now',
  retrying: 'retried automatically',
  expired: 'older than the limit',
  deleted: 'deleted by their writer',
  dropped: 'dismissed',
  set_aside: 'malformed rows',
  recipient_suppressed: 'the recipient complained or is suppressed',
  beyond_limit: 'beyond the limit',
  changed: 'changed after the preview began',
  failed_over: 'continue on their fallback channel',
  INVALID_RECIPIENT: 'wrong recipients',
  CANCELLED: 'cancelled',
};

export const exclusionWord = (reason: string): string => EXCLUSIONS[reason] ?? reason.replaceAll('_', ' ');

/** A column of a row as text; empty without a value. */
export function columnText(row: Readonly<Record<string, unknown>>, name: string): string {
  return row[name] === undefined || row[name] === null ? '' : String(row[name]);
}

/** When a notification is tried next; undefined: it is not, or nobody knows. */
export function nextTryOf({ state, held_until, work_at }: Readonly<Record<string, unknown>>): string | undefined {
  const next = state === 'held' ? held_until : state === 'waiting' || state === 'due' ? work_at : undefined;
  return typeof next === 'string' ? next : undefined;
}

/** `Slack` and the like; an unknown channel as it is written. */
export function channelName(channel: unknown): string {
  const name = String(channel ?? '');
  return Object.hasOwn(CHANNEL_NAMES, name) ? CHANNEL_NAMES[name as keyof typeof CHANNEL_NAMES] : name;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}

/** What a provider answered: its code, unless its words have it, and its words. */
export function answerWords(code: string | null | undefined, message: string | null | undefined): string {
  const parts = message?.includes(code ?? '') ? [message] : [code, message];
  return parts.filter((part) => part !== undefined && part !== null && part !== '').join(' · ');
}

/** After a colon; a name that begins with an abbreviation stays as it is. */
export const lowerFirst = (sentence: string): string => sentence.charAt(0).toLowerCase() + sentence.slice(1);
