import type { JsonObject } from '../../support/json.ts';

/** Protocols that reach persons. The runtime itself shows their messages. */
const PERSONAL_PROTOCOLS = ['email', 'email-json', 'sms'];

/** Whether a subscription would need a stand-in, because a program and not a person gets its messages. */
export function needsStandIn(properties: JsonObject): boolean {
  return !PERSONAL_PROTOCOLS.includes(String(properties['Protocol']));
}
