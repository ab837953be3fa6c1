import type { OperationKind, OperationStatus } from '../../src/application/contract/choices.ts';
import { t } from '../language/language.ts';
import type { Word } from './badge.tsx';

/** What becomes of a notification (RowState), for people. */
const STATES: Readonly<Record<string, Word>> = {
  delivered: { name: t('Delivered'), tone: 'good', meaning: t('The provider accepted it.') },
  claimed: { name: t('Sending'), tone: 'busy', meaning: t('An attempt is under way.') },
  abandoned: {
    name: t('Interrupted'),
    tone: 'busy',
    meaning: t('The worker of an attempt crashed; the next message or sweep takes over.'),
  },
  due: {
    name: t('Due'),
    tone: 'busy',
    meaning: t('Its time has come; the next sweep, or a queued message, sends it.'),
  },
  waiting: { name: t('Waiting'), tone: 'wait', meaning: t('It waits for its next retry.') },
  held: {
    name: t('Held'),
    tone: 'wait',
    meaning: t('Its provider is down; it is sent when the provider is back, and uses up no retry.'),
  },
  dead: { name: t('Dead'), tone: 'bad', meaning: t('Given up, with a dead letter: it needs a person.') },
  stopped: {
    name: t('Stopped'),
    tone: 'none',
    meaning: t('Given up without a dead letter: wrong recipient, cancelled, or dropped.'),
  },
  set_aside: { name: t('Set aside'), tone: 'bad', meaning: t('Its row is malformed; its writer has to correct it.') },
  not_taken_in: { name: t('Not taken in'), tone: 'none', meaning: t('Not indexed yet, or left to its writer.') },
};

export const stateWord = (state: string): Word => STATES[state] ?? { name: state, tone: 'none', meaning: '' };

/** Causes, as a person would say them; the code stands beside them. */
const CAUSES: Readonly<Record<string, string>> = {
  NETWORK_TIMEOUT: t('The provider did not answer in time'),
  UNKNOWN: t('The provider gave an unknown answer'),
  SERVER_OVERLOAD: t('The provider is overloaded'),
  RATE_LIMITED: t('The provider limits the rate'),
  AUTH_TEMPORARY: t('The credential was refused for now'),
  INVALID_RECIPIENT: t('The recipient does not exist'),
  AUTH_FAILED: t('The credential is not accepted'),
  FORMAT_ERROR: t('The provider refuses the content'),
  PERMISSION_DENIED: t('The integration lacks a permission'),
  MAX_RETRIES: t('All retries are used up'),
  EXPIRED: t('Its time is over'),
  CANCELLED: t('It was cancelled'),
};

export const causeWord = (type: string): string => CAUSES[type] ?? type;

const CHANNEL_NAMES = { email: t('E-mail'), slack: 'Slack', teams: 'Teams', webhook: 'Webhook' } as const;

export const KIND_WORDS: Readonly<
  Record<OperationKind, { readonly name: string; readonly does: string; readonly done: string }>
> = {
  redrive: { name: t('Redrive'), does: t('Starts them again with a full budget of retries.'), done: t('redriven') },
  retry: { name: t('Retry now'), does: t('Attempts now what waits for its next retry.'), done: t('queued') },
  cancel: { name: t('Cancel retries'), does: t('Ends what waits; it is not sent.'), done: t('cancelled') },
  give_up: {
    name: t('Dismiss'),
    does: t('Keeps row and records, deletes the dead letters; they are not sent.'),
    done: t('dismissed'),
  },
  correct: {
    name: t('Change integration'),
    does: t('Starts them again by another integration of their tenant, with a full budget of retries.'),
    done: t('redriven by another integration'),
  },
};

export const OPERATION_WORDS: Readonly<Record<OperationStatus, Word>> = {
  previewing: { name: t('Counting'), tone: 'busy', meaning: t('What matches is being counted; nothing has changed.') },
  ready: { name: t('Ready'), tone: 'wait', meaning: t('Waits for its start; nothing has changed.') },
  running: { name: t('Running'), tone: 'busy', meaning: t('It is being done.') },
  paused: { name: t('Paused'), tone: 'wait', meaning: t('It can be resumed.') },
  done: { name: t('Done'), tone: 'good', meaning: t('Everything that was previewed is done.') },
  cancelled: { name: t('Cancelled'), tone: 'none', meaning: t('What was done stays done; the rest was left.') },
  failed: { name: t('Failed'), tone: 'bad', meaning: t('It stopped with an error, and can be resumed.') },
};

const EXCLUSIONS: Readonly<Record<string, string>> = {
  delivered: t('delivered already'),
  claimed: t('being sent right now'),
  retrying: t('retried automatically'),
  expired: t('older than the limit'),
  deleted: t('deleted by their writer'),
  dropped: t('dismissed'),
  set_aside: t('malformed rows'),
  recipient_suppressed: t('the recipient complained or is suppressed'),
  beyond_limit: t('beyond the limit'),
  changed: t('changed after the preview began'),
  failed_over: t('continue on their fallback channel'),
  INVALID_RECIPIENT: t('wrong recipients'),
  CANCELLED: t('cancelled'),
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

/** What a provider answered: its code, unless its words have it, and its words. */
export function answerWords(code: string | null | undefined, message: string | null | undefined): string {
  const parts = message?.includes(code ?? '') ? [message] : [code, message];
  return parts.filter((part) => part !== undefined && part !== null && part !== '').join(' · ');
}

/** After a colon; a name that begins with an abbreviation stays as it is. */
export const lowerFirst = (sentence: string): string => sentence.charAt(0).toLowerCase() + sentence.slice(1);
