import { describe, expect, it } from 'vitest';
import { LaneRooms } from '../../../src/core/sweep/lane-room.ts';

const BOUND = { seconds: 60, least: 100 };
/** A lane, by the number of messages that it holds at a time. */
const roomsOf = (messages: number, now = 0) => {
  const rooms = new LaneRooms(BOUND);
  rooms.begin('lane', messages, now);
  return rooms;
};

describe('the room in a lane', () => {
  it('is what it may hold, less what it holds', () => {
    const rooms = roomsOf(98);
    expect([rooms.isFull('lane'), rooms.take('lane'), rooms.take('lane')]).toEqual([false, true, true]);
    expect([rooms.isFull('lane'), rooms.take('lane')]).toEqual([true, false]);
    expect(rooms.unknown('lane'), 'whose the others are it knows').toEqual({ before: 98, own: 0 });
  });

  it('has a hundred places beyond, for what is sent again', () => {
    const rooms = roomsOf(100);
    expect(rooms.take('lane')).toBe(false);
    for (let i = 0; i < 100; i++) expect(rooms.take('lane', true)).toBe(true);
    expect(rooms.take('lane', true)).toBe(false);
    expect(new LaneRooms(BOUND, rooms.state()).take('lane', true)).toBe(false);
    expect(new LaneRooms(BOUND, rooms.state()).unknown('lane')).toEqual({ before: 100, own: 100 });
  });

  it('is used before any place beyond it', () => {
    const rooms = roomsOf(99);
    expect(rooms.take('lane', true)).toBe(true);
    expect(rooms.state()['lane']).not.toHaveProperty('beyond');
  });

  it('counts the rows that did not fit, the last one until the lane is free', () => {
    const rooms = roomsOf(0);
    expect([rooms.waiting(), rooms.held]).toEqual([[], 0]);
    for (let i = 0; i < 2; i++) rooms.hold('lane');
    expect([rooms.waiting(), rooms.held]).toEqual([['lane'], 2]);
    for (let i = 0; i < 3; i++) rooms.release('lane');
    expect([rooms.waiting(), rooms.held]).toEqual([['lane'], 1]);
    rooms.releaseAll('lane');
    expect(rooms.held).toBe(0);
  });

  it('of a lane that nobody has begun is unlimited, and nothing is counted', () => {
    const rooms = new LaneRooms(BOUND);
    for (const call of ['hold', 'release', 'releaseAll'] as const) rooms[call]('lane');
    rooms.measure('lane', 5, 1_000);
    expect([rooms.take('lane'), rooms.isFull('lane'), rooms.held]).toEqual([true, false, 0]);
    expect(rooms.unknown('lane')).toEqual({ before: 0, own: 0 });
    expect(rooms.state()).toEqual({});
  });

  it('is worth another walk when half of it is free', () => {
    const rooms = new LaneRooms(BOUND);
    for (const [lane, messages, held] of [
      ['half', 50, 1],
      ['fuller', 51, 1],
      ['unwanted', 10, 0],
    ] as const) {
      rooms.begin(lane, messages, 0);
      for (let i = 0; i < held; i++) rooms.hold(lane);
    }
    expect(rooms.waiting()).toEqual(['half', 'fuller']);
    expect(rooms.names().map((lane) => rooms.isHalfEmpty(lane))).toEqual([true, false, true]);
  });

  it('is known again to a sweep that continues', () => {
    const rooms = roomsOf(7, 1_000);
    rooms.take('lane');
    rooms.hold('lane');
    const state = { lane: { limit: 100, messages: 8, before: 7, at: 1_000, held: 1 } };
    expect(rooms.state()).toEqual(state);
    expect(new LaneRooms(BOUND, rooms.state()).state()).toEqual(state);
  });
});

describe('the limit of a lane', () => {
  const measured = (begun: readonly [messages: number, at: number], later: readonly [messages: number, at: number]) => {
    const rooms = roomsOf(...begun);
    rooms.measure('lane', ...later);
    return rooms.state()['lane'];
  };

  it.each([
    // Ten per second are 600 per minute, and the limit goes half of the way there.
    ['follows what the lane takes', [1_000, 50_000], [400, 110_000], { limit: 350, messages: 400, before: 400 }],
    ['is what an empty lane took', [1_000, 0], [0, 1_000], { limit: 60_000, messages: 0, before: 0 }],
    ['doubles for an empty lane that had too little', [10, 0], [0, 60_000], { limit: 200, messages: 0, before: 0 }],
    ['never falls below the least', [100, 0], [99, 60_000], { limit: 100, messages: 99, before: 99 }],
    ['learns nothing from messages of others', [100, 0], [500, 1_000], { limit: 100, messages: 500, before: 100 }],
  ] as const)('%s', (_, begun, later, expected) => {
    expect(measured(begun, later)).toEqual({ ...expected, at: later[1], held: 0 });
  });

  it('is in whole messages, and those from before the sweep are taken first', () => {
    const rooms = roomsOf(30, 0);
    for (let i = 0; i < 40; i++) rooms.take('lane');
    rooms.hold('lane');
    rooms.measure('lane', 50, 7_000);
    // 20 in seven seconds: 172 per minute, rounded up.
    expect(rooms.state()['lane']).toEqual({ limit: 136, messages: 50, before: 10, at: 7_000, held: 1 });
    const later = new LaneRooms(BOUND, rooms.state());
    expect(later.unknown('lane')).toEqual({ before: 10, own: 40 });
    // A try of the same part that died had sent ten.
    later.measure('lane', 60, 8_000);
    expect(later.unknown('lane')).toEqual({ before: 10, own: 50 });
    for (let i = 0; i < 10; i++) later.take('lane');
    // Those of the part before it next, and its own last.
    later.measure('lane', 25, 14_000);
    expect(later.unknown('lane')).toEqual({ before: 0, own: 15 });
    later.measure('lane', 5, 21_000);
    expect(later.unknown('lane')).toEqual({ before: 0, own: 0 });
  });

  it('is not measured twice at the same moment, or backwards', () => {
    for (const at of [1_000, 999]) {
      expect(measured([80, 1_000], [0, at])).toEqual({ limit: 100, messages: 80, before: 80, at: 1_000, held: 0 });
    }
  });
});
