import { createNewsletterQueues, type NewsletterQueueUrls } from '../../../src/adapters/sqs/newsletter-queues.ts';
import { createSqs } from '../runtime/clients/sqs.ts';

/** In a module of its own: two lazy imports would split the SDK's core, which every function loads first, into two files. */
export const createQueueAccess = (urls: NewsletterQueueUrls) => createNewsletterQueues(createSqs(), urls);
