import { createNewsletterQueues, type NewsletterQueueUrls } from '../../../src/adapters/sqs/newsletter-queues.ts';
import { createSqs } from '../runtime/clients/sqs.ts';

/** In a module of its own, so that SQS's client is loaded with the first message. */
export function createQueueAccess(urls: NewsletterQueueUrls) {
  return createNewsletterQueues(createSqs(), urls);
}
