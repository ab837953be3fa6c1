import * as v from 'valibot';
import { act, revealContent, tryAction } from '../actions.ts';
import { shellCommand } from '../contract/choices.ts';
import { decisionBody } from '../contract/fields.ts';
import {
  actionAnswer,
  actionBody,
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
import { decision, list, show } from '../route.ts';

const COMMANDS = { redrive: 'retry --redrive', retry: 'retry', cancel: 'cancel', give_up: 'dlq drop' } as const;

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
    async handle({ path, decide }, deps) {
      const row = await requireNotification(path.log_id, deps);
      const { recipient } = await revealContent('reveal', row, deps, decide);
      return { recipient };
    },
  }),
  decision('POST /api/notifications/{log_id}/content', decisionBody, {
    operation_id: 'revealContent',
    summary: 'What is sent at each attempt, and to whom; the audit log keeps who asked',
    answer: sentContent,
    command: ['show', 'log_id'],
    async handle({ path, decide }, deps) {
      const row = await requireNotification(path.log_id, deps);
      const { recipient, subject, body, format } = await revealContent('reveal.content', row, deps, decide);
      return { recipient, ...(subject !== undefined && { subject }), body, format };
    },
  }),
  decision('POST /api/recipient-hash', recipientHashBody, {
    // A viewer could find out to which addresses something was sent.
    operation_id: 'hashRecipient',
    summary: 'The hash by which a list finds a recipient, so that no URL holds the address',
    answer: v.strictObject({ recipient_hash: v.string() }),
    command: ['list --recipient - --tenant TENANT'],
    handle: async ({ input }, { deployment }) => ({ recipient_hash: await recipientFilter(input, deployment) }),
  }),
  decision('POST /api/actions', actionBody, {
    operation_id: 'act',
    summary: 'Redrives, retries, cancels or gives up single notifications',
    answer: actionAnswer,
    command: ['list'],
    async handle({ input, decide }, deps) {
      const { action, log_ids, shown, dry_run, request_id } = input;
      const command = shellCommand(COMMANDS[action], deps.local, [], log_ids);
      const { results, repeated } = dry_run
        ? { results: await tryAction({ action, log_ids, shown }, deps), repeated: false }
        : await act({ action, log_ids, shown }, deps, decide);
      return { request_id, dry_run, repeated, results, command };
    },
  }),
];
