/** An event of a bus, as Lambda gets it from EventBridge. */
export interface BusEvent {
  readonly id: string;
  readonly time: string;
  readonly 'detail-type': string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/**
 * A function that reports alarms and mailings that failed to Sentry, without its SDK. `SENTRY_DSN` is that of a project.
 * Whatever Sentry does not take is thrown, so that EventBridge has it reported again, under the same id.
 */
export async function handler(event: BusEvent): Promise<void> {
  const { protocol, host, username: key, pathname } = new URL(process.env['SENTRY_DSN'] ?? '');
  const url = `${protocol}//${host}/api${pathname}/envelope/`;
  const payload = sentryEvent(event);
  const { event_id } = payload;
  const lines = [{ event_id, sent_at: new Date().toISOString() }, { type: 'event' }, payload];
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-sentry-envelope',
      'x-sentry-auth': `Sentry sentry_version=7, sentry_key=${key}, sentry_client=notification-retry/1.0`,
    },
    body: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) throw new Error(`Sentry answers ${answer.status}`);
}

function sentryEvent({ id, time, detail, ...event }: BusEvent) {
  const { event_id, email_id, alarmName, configuration } = detail;
  const { description } = Object(configuration);
  return {
    // One id per cause: Sentry keeps the first of what is delivered twice.
    event_id: String(event_id ?? id).replaceAll('-', ''),
    timestamp: time,
    platform: 'other',
    level: 'error',
    logger: 'notification-retry',
    message: alarmName === undefined ? `Email ${email_id} failed` : `${alarmName}: ${description}`,
    fingerprint: [event['detail-type'], String(alarmName ?? email_id)],
    extra: detail,
  };
}
