import type { IncomingMessage } from 'node:http';
import * as v from 'valibot';
import type { Answer } from '../respond.ts';
import type { SendingLimits } from './sending-limits.ts';

const change = v.strictObject({
  per_second: v.exactOptional(v.pipe(v.number(), v.gtValue(0))),
  per_day: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(-1))),
  sending: v.exactOptional(v.boolean()),
});

/**
 * The requests about the account; undefined for any other request.
 *
 * | request | answer |
 * |---|---|
 * | `GET /v2/email/account` | GetAccount of SES v2 |
 * | `POST /` with `Action=GetSendQuota` | GetSendQuota of SES v1 |
 * | `GET /_limits` | the limits, what was sent in 24 hours, and how many calls were refused by each |
 * | `PUT /_limits` with `{"per_second"?,"per_day"?,"sending"?}` | changes them |
 */
export function accountAnswer(
  { method, url }: Pick<IncomingMessage, 'method' | 'url'>,
  body: Buffer,
  sending: SendingLimits,
): Answer | undefined {
  if (method === 'GET' && url === '/v2/email/account') return json(200, account(sending));
  if (method === 'POST' && url === '/' && new URLSearchParams(body.toString()).get('Action') === 'GetSendQuota') {
    return sendQuota(sending);
  }
  if (url !== '/_limits') return undefined;
  if (method === 'PUT') {
    const wanted = v.safeParse(v.pipe(v.string(), v.parseJson(), change), body.toString());
    if (!wanted.success) {
      return json(400, {
        message: 'the limits are {"per_second"?: above 0, "per_day"?: -1 or more, "sending"?: boolean}',
      });
    }
    sending.change(wanted.output);
  }
  return json(200, { ...sending.limits, sent_24h: sending.sentIn24Hours(Date.now()), refused: sending.refused });
}

function account(sending: SendingLimits) {
  const { per_second, per_day, sending: SendingEnabled } = sending.limits;
  return {
    DedicatedIpAutoWarmupEnabled: false,
    EnforcementStatus: 'HEALTHY',
    ProductionAccessEnabled: true,
    SendQuota: {
      Max24HourSend: per_day,
      MaxSendRate: per_second,
      SentLast24Hours: sending.sentIn24Hours(Date.now()),
    },
    SendingEnabled,
  };
}

function sendQuota(sending: SendingLimits): Answer {
  const { per_second, per_day } = sending.limits;
  return {
    status: 200,
    headers: { 'content-type': 'text/xml' },
    body:
      '<GetSendQuotaResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><GetSendQuotaResult>' +
      `<Max24HourSend>${per_day}</Max24HourSend><MaxSendRate>${per_second}</MaxSendRate>` +
      `<SentLast24Hours>${sending.sentIn24Hours(Date.now())}</SentLast24Hours>` +
      '</GetSendQuotaResult></GetSendQuotaResponse>',
  };
}

function json(status: number, value: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(value) };
}
