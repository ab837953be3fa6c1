import type { JsonObject } from '../../support/json.ts';

/** Ways to tell a person, for which nothing on this machine stands in: notices are shown by the runtime itself. */
const TO_PERSONS = ['email', 'email-json', 'sms'];

/** Whether a subscription has work to do that somebody here would have to do. */
export function subscribesMachine(properties: JsonObject): boolean {
  return !TO_PERSONS.includes(String(properties['Protocol']));
}
