import type { Channel } from '../model/channels.ts';
import type { FieldFault } from '../model/problem.ts';

interface BodyLimit {
  readonly max: number;
  readonly unit: 'characters' | 'bytes';
  readonly because: string;
}

/** The longest body of each channel. A body that the provider would certainly refuse is refused by the API. */
export const BODY_LIMITS: Readonly<Record<Channel, BodyLimit>> = {
  email: { max: 256 * 1024, unit: 'bytes', because: 'of NotificationContent, whose items have at most 400 KB' },
  slack: { max: 40_000, unit: 'characters', because: 'of a Slack message' },
  teams: { max: 27 * 1024, unit: 'bytes', because: 'of a Teams message, about 28 KB including its card' },
  webhook: { max: 256 * 1024, unit: 'bytes', because: 'of NotificationContent, whose items have at most 400 KB' },
};

export function bodyFault(channel: Channel, body: string): FieldFault | undefined {
  const { max, unit, because } = BODY_LIMITS[channel];
  if (fits(channel, body)) return undefined;
  return { path: 'body', rule: `max_${unit}`, message: `must have at most ${max} ${unit}, the limit ${because}` };
}

/** The fallback channel sends the same body, so it must accept its length. */
export function fallbackFault(channel: Channel, body: string): FieldFault | undefined {
  const { max, unit, because } = BODY_LIMITS[channel];
  if (fits(channel, body)) return undefined;
  const message = `must be a channel for this body: ${channel} takes at most ${max} ${unit}, the limit ${because}`;
  return { path: 'fallback.channel', rule: `max_${unit}`, message };
}

function fits(channel: Channel, body: string): boolean {
  const { max, unit } = BODY_LIMITS[channel];
  return (unit === 'bytes' ? utf8Length(body) : [...body].length) <= max;
}

function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}
