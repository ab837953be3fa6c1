import type { Message } from '@aws-sdk/client-sqs';
import type { SQSEvent, SQSMessageAttributes, SQSRecord, SQSRecordAttributes } from 'aws-lambda';

/** The event that Lambda's SQS event source gives a function for these messages. */
export function sqsEvent(messages: readonly Message[], queueArn: string, region: string): SQSEvent {
  return { Records: messages.map((message) => sqsRecord(message, queueArn, region)) };
}

function sqsRecord(message: Message, eventSourceARN: string, awsRegion: string): SQSRecord {
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    // Lambda passes on every system attribute that SQS returns.
    attributes: { ...message.Attributes } as unknown as SQSRecordAttributes,
    messageAttributes: messageAttributes(message),
    md5OfBody: message.MD5OfBody ?? '',
    eventSource: 'aws:sqs',
    eventSourceARN,
    awsRegion,
  };
}

function messageAttributes(message: Message): SQSMessageAttributes {
  return Object.fromEntries(
    Object.entries(message.MessageAttributes ?? {}).map(([name, attribute]) => [
      name,
      {
        ...(attribute.StringValue === undefined ? {} : { stringValue: attribute.StringValue }),
        ...(attribute.BinaryValue === undefined
          ? {}
          : { binaryValue: Buffer.from(attribute.BinaryValue).toString('base64') }),
        stringListValues: [],
        binaryListValues: [],
        dataType: attribute.DataType ?? 'String',
      },
    ]),
  );
}
