/** The SQS stand-in, whose receives wait for a twentieth: a walk through dead letters ends by one that finds nothing. */
const { SqsQueue } = await import(new URL('sqs/sqsStore.js', import.meta.resolve('fauxqs')).href);
const { waitForMessages } = SqsQueue.prototype;
SqsQueue.prototype.waitForMessages = function (this: unknown, seconds: number) {
  return waitForMessages.call(this, seconds / 20);
};
await import('../../../src/local/stand-ins/sqs-process.ts');
