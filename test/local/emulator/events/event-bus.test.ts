import { describe, expect, it } from 'vitest';
import { eventBus, transformed } from '../../../../src/local/emulator/events/event-bus.ts';
import type { EventRulePlan } from '../../../../src/local/emulator/template/event-rules.ts';

const EVENT = {
  source: 'aws.ses',
  time: '2026-03-01T10:30:00Z',
  detail: { kind: 'a "quoted" one', mail: { tags: { log_id: ['NL-1'] } } },
};

describe('an input transformer', () => {
  it.each([
    ['a value as JSON', '{"time":<t>}', { t: '$.time' }, '{"time":"2026-03-01T10:30:00Z"}'],
    ['quotes escaped', '{"kind":<k>}', { k: '$.detail.kind' }, '{"kind":"a \\"quoted\\" one"}'],
    ['an element of a list', '{"id":<id>}', { id: '$.detail.mail.tags.log_id[0]' }, '{"id":"NL-1"}'],
    ['an object', '{"tags":<tags>}', { tags: '$.detail.mail.tags' }, '{"tags":{"log_id":["NL-1"]}}'],
    ['nothing for a path that finds no value', '{"x":<x>}', { x: '$.detail.none[0]' }, '{"x":}'],
  ])('fills in %s', (_, template, paths, expected) => {
    expect(transformed({ template, paths }, EVENT)).toBe(expected);
  });
});

describe('the event bus', () => {
  it('delivers an event to the target of each matching rule, although another target cannot be reached', async () => {
    const rule = (id: string, source: string): EventRulePlan => ({ id, pattern: { source: [source] }, queueName: id });
    const sent: string[] = [];
    const log: string[] = [];
    const send = async (queue: string, body: string) => {
      if (queue === 'broken') throw new Error('no such queue');
      sent.push(`${queue} ${body}`);
    };
    const rules = [rule('broken', 'aws.ses'), rule('other', 'aws.s3'), rule('good', 'aws.ses')];
    await eventBus(rules, send, (line) => log.push(line))(EVENT);
    expect(sent).toEqual([`good ${JSON.stringify(EVENT)}`]);
    expect(log).toEqual(['rule broken: no such queue']);
  });
});
