import { describe, expect, it } from 'vitest';
import { type Deliver, eventBus, transformed } from '../../../../src/local/emulator/events/event-bus.ts';
import type { EventRulePlan } from '../../../../src/local/emulator/template/event-rules.ts';

const EVENT = {
  source: 'aws.ses',
  time: '2026-03-01T10:30:00Z',
  detail: { kind: 'a "quoted" one', mail: { tags: { log_id: ['NL-1'] } } },
};

it.each([
  ['a value as JSON', '{"time":<t>}', { t: '$.time' }, '{"time":"2026-03-01T10:30:00Z"}'],
  ['quotes escaped', '{"kind":<k>}', { k: '$.detail.kind' }, '{"kind":"a \\"quoted\\" one"}'],
  ['an element of a list', '{"id":<id>}', { id: '$.detail.mail.tags.log_id[0]' }, '{"id":"NL-1"}'],
  ['an object', '{"tags":<tags>}', { tags: '$.detail.mail.tags' }, '{"tags":{"log_id":["NL-1"]}}'],
  ['nothing for a path that finds no value', '{"x":<x>}', { x: '$.detail.none[0]' }, '{"x":}'],
])('an input transformer fills in %s', (_, template, paths, expected) =>
  expect(transformed({ template, paths }, EVENT)).toBe(expected),
);

describe('the event bus', () => {
  it('delivers an event to the target of each matching rule, although another target cannot be reached', async () => {
    const rule = (id: string, source: string): EventRulePlan => ({
      id,
      pattern: { source: [source] },
      target: { kind: 'queue', name: id },
    });
    const sent: string[] = [];
    const log: string[] = [];
    const send: Deliver = async (target, body) => {
      const queue = target.kind === 'queue' ? target.name : target.kind;
      if (queue === 'broken') throw new Error('no such queue');
      sent.push(`${queue} ${body}`);
    };
    const rules = [rule('broken', 'aws.ses'), rule('other', 'aws.s3'), rule('good', 'aws.ses')];
    await eventBus(rules, send, (line) => log.push(line), [])(EVENT);
    expect(sent).toEqual([`good ${JSON.stringify(EVENT)}`]);
    expect(log).toEqual(['rule broken: no such queue']);
  });

  it('gives an event to the rules of its own bus only, the part that they want, and tries a target again', async () => {
    const sent: string[] = [];
    const rule = (id: string, more: Partial<EventRulePlan>): EventRulePlan => ({
      id,
      pattern: { source: ['aws.ses'] },
      target: { kind: 'function', name: id },
      ...more,
    });
    let failures = 2;
    const deliver: Deliver = async (_, body) => {
      if (failures-- > 0) throw new Error('down');
      sent.push(body);
    };
    const rules = [rule('default', {}), rule('other', { bus: 'told', path: '$.detail.mail.tags' })];
    const publish = eventBus(rules, deliver, () => {}, [0, 0]);
    await publish(EVENT, 'told');
    expect(sent).toEqual([JSON.stringify({ log_id: ['NL-1'] })]);
    await publish(EVENT, 'nobody listens');
    expect(sent).toHaveLength(1);
  });
});
