import type { _Record, AttributeValue as StreamValue } from '@aws-sdk/client-dynamodb-streams';
import { type Json, type JsonObject, objectAt } from '../../support/json.ts';

/** A stream record as Lambda passes it to a function: binary values in base64, times in epoch seconds. */
export function streamRecord(record: _Record, streamArn: string, awsRegion: string): JsonObject {
  const change = record.dynamodb ?? {};
  const images: Record<string, Json> = {};
  for (const name of ['Keys', 'NewImage', 'OldImage'] as const) {
    const image = change[name];
    if (image !== undefined) images[name] = plain(image);
  }
  return {
    eventID: record.eventID ?? '',
    eventName: record.eventName ?? '',
    eventVersion: record.eventVersion ?? '1.1',
    eventSource: 'aws:dynamodb',
    awsRegion,
    dynamodb: {
      ApproximateCreationDateTime: Math.floor((change.ApproximateCreationDateTime?.getTime() ?? 0) / 1000),
      ...images,
      SequenceNumber: change.SequenceNumber ?? '',
      SizeBytes: change.SizeBytes ?? 0,
      StreamViewType: change.StreamViewType ?? '',
    },
    eventSourceARN: streamArn,
  };
}

export function sequenceNumber(record: JsonObject): string {
  return String(objectAt(record['dynamodb'], 'stream record')['SequenceNumber']);
}

function plain(image: Record<string, StreamValue>): Json {
  const text = JSON.stringify(image, (_, value: unknown) =>
    isBytes(value) ? Buffer.from(Object.values(value)).toString('base64') : value,
  );
  return JSON.parse(text);
}

/** JSON.stringify calls toJSON of a Buffer before it gets here; a plain Uint8Array has none. */
function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array;
}
