import { expect } from 'vitest';
import { eventBus } from '../../../src/local/emulator/events/event-bus.ts';
import { eventRulesFrom } from '../../../src/local/emulator/template/event-rules.ts';
import type { JsonObject } from '../../../src/local/support/json.ts';
import type { SesEventCase } from '../../corpus/ses-events/cases.ts';
import { resourcesOf, templateOf } from './synthesize.ts';

/** The messages that the deployed rules make of an event, whatever their queue. */
export function deployedRules(): (event: JsonObject) => Promise<readonly string[]> {
  const rules = resourcesOf(templateOf({ stage: 'dev' }), 'AWS::Events::Rule').flatMap(({ id, properties }) =>
    eventRulesFrom(id, withArns(properties), () => undefined),
  );
  return async (event) => {
    const queued: string[] = [];
    await eventBus(rules, async (_, body) => void queued.push(body), expect.fail)(event);
    return queued;
  };
}

/** References to queues, in their resolved form. */
function withArns(properties: Readonly<Record<string, unknown>>): JsonObject {
  return JSON.parse(JSON.stringify(properties), (key, value) =>
    key === 'Arn' ? 'arn:aws:sqs:us-east-1:000000000000:events' : value,
  );
}

/** A case as EventBridge's default bus has it, of a mail with these tags. */
export function eventOf({ event, part, content }: SesEventCase, tags: Readonly<Record<string, string>>): JsonObject {
  const listed = Object.fromEntries(Object.entries(tags).map(([name, value]) => [name, [value]]));
  return {
    'detail-type': 'Email',
    source: 'aws.ses',
    time: '2026-03-01T10:30:03Z',
    detail: {
      eventType: event,
      mail: {
        timestamp: '2026-03-01T10:30:02.123Z',
        messageId: 'message-2',
        destination: ['hanako.secret@example.com'],
        commonHeaders: { subject: 'private' },
        tags: listed,
      },
      [part]: content,
    },
  };
}
