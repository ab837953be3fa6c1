export type { Notification, Problem } from '../handover/notification.ts';
export type { ApiOptions } from './api/request.ts';
export type { GetToken, TokenRequest } from './api/tokens.ts';
// biome-ignore lint/performance/noBarrelFile: this is the entry point of a package for web pages.
export { createOfflineQueue, type OfflineQueue, type QueueOptions } from './queue/offline-queue.ts';
export type { QueueEntry } from './queue/queue-entry.ts';
export type { QueueEvent, QueueEventType } from './queue/send-next.ts';
export {
  defineNotificationState,
  type NotificationStateElement,
  type StateOptions,
} from './state/notification-state.ts';
export { type NotificationAnswer, type StateTexts, TEXTS } from './state/texts.ts';
