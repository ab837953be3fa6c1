import * as v from 'valibot';
import { act, revealContent, tryAction } from '../chosen/actions.ts';
import { correctNotification } from '../chosen/correct.ts';
import { shellCommand } from '../contract/choices.ts';
import { decisionBody } from '../contract/fields.ts';
import {
  actionAnswer,
  actionBody,
  type CorrectedField,
  correctAnswer,
  correctBody,
  notificationDetail,
  notificationList,
  notificationsQuery,
  recipientHashBody,
  sentContent,
} from '../contract/notifications.ts';
import {
  findNotifications,
  notificationForPage as readDetail,
  recipientFilter,
  requireNotification,
} from '../notifications.ts';
import { decision, list, question, show } from '../route.ts';

const COMMANDS = { redrive: 'retry --redrive', retry: 'retry', cancel: 'cancel', give_up: 'dlq drop' } as const;

/** Neither an address nor a text stands in the line. */
const CORRECT_OPTIONS: Readonly<Record<CorrectedField, (to: string) => readonly string[]>> = {
  recipient: () => ['--recipient', '-'],
  subject: () => ['--subject', 'SUBJECT'],
  body: () => ['--body', 'FILE'],
  integration_config_id: (to) => ['--integration', to],
};

/** Notifications: lists, one with its attempts, its recipient, and what operators do with those that they chose. */
export const NOTIFICATION_ROUTES = [
  list('GET /api/notifications', notificationsQuery, {
    operation_id: 'listNotifications',
    summary: 'Notifications that match a filter',
    answer: notificationList,
    command: ['list'],
    handle: ({ input }, deps) => findNotifications(input, deps),
  }),
  show('GET /api/notifications/{log_id}', {
    operation_id: 'getNotification',
    summary: 'A notification with its attempts, its remedy and what can be done',
    answer: notificationDetail,
    command: ['show', 'log_id'],
    handle: ({ path }, deps) => readDetail(path.log_id, deps),
  }),
  decision('POST /api/notifications/{log_id}/reveal', decisionBody, {
    operation_id: 'revealRecipient',
    summary: 'The recipient; the audit log keeps who asked',
    answer: v.strictObject({ recipient: v.string() }),
    command: ['show', 'log_id'],
    decide: async ({ path }, deps) => revealContent('reveal', await requireNotification(path.log_id, deps), deps),
    show: ({ answer: { recipient } }) => ({ recipient }),
  }),
  decision('POST /api/notifications/{log_id}/content', decisionBody, {
    operation_id: 'revealContent',
    summary: 'What is sent at each attempt, and to whom; the audit log keeps who asked',
    answer: sentContent,
    command: ['show', 'log_id'],
    decide: async ({ path }, deps) =>
      revealContent('reveal.content', await requireNotification(path.log_id, deps), deps),
    show: ({ answer: { recipient, subject, body, format } }) => ({
      recipient,
      ...(subject !== undefined && { subject }),
      body,
      format,
    }),
  }),
  question('POST /api/recipient-hash', recipientHashBody, {
    // A viewer could find out to which addresses something was sent.
    operation_id: 'hashRecipient',
    summary: 'The hash by which a list finds a recipient, so that no URL holds the address',
    answer: v.strictObject({ recipient_hash: v.string() }),
    command: ['list --recipient - --tenant TENANT'],
    handle: async ({ input }, { deployment }) => ({ recipient_hash: await recipientFilter(input, deployment) }),
  }),
  decision('POST /api/notifications/{log_id}/correct', correctBody, {
    operation_id: 'correct',
    summary: 'Corrects recipient, subject, body or integration, and sends it in another life',
    answer: correctAnswer,
    command: ['correct', 'log_id'],
    max_bytes: 1_048_576,
    decide: ({ path, input: { request_id: _, ...asked } }, deps) => correctNotification(path.log_id, asked, deps),
    show({ answer, repeated }, { path: { log_id }, input: { dry_run, request_id } }, { local }) {
      const options = answer.changes.flatMap(({ field, to }) => CORRECT_OPTIONS[field](to));
      return { request_id, dry_run, repeated, ...answer, command: shellCommand('correct', local, options, [log_id]) };
    },
  }),
  decision('POST /api/actions', actionBody, {
    operation_id: 'act',
    summary: 'Redrives, retries, cancels or gives up single notifications',
    answer: actionAnswer,
    command: ['list'],
    decide: ({ input }, deps) => (input.dry_run ? tryAction(input, deps) : act(input, deps)),
    show({ answer, repeated }, { input: { action, log_ids, dry_run, request_id } }, { local }) {
      const command = shellCommand(COMMANDS[action], local, [], log_ids);
      return { request_id, dry_run, repeated, results: answer, command };
    },
  }),
];
