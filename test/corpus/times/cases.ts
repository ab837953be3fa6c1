/** A time as others write it, the zone of one without its own, and the moment; absent: no time. */
interface TimeCase {
  readonly text: string;
  readonly zone: string;
  readonly moment?: string;
  readonly why: string;
}

const UTC = 'UTC';
const BERLIN = 'Europe/Berlin';
const NEW_YORK = 'America/New_York';
const LORD_HOWE = 'Australia/Lord_Howe';

export const TIMES: readonly TimeCase[] = [
  // ISO 8601 and RFC 3339.
  { text: '2026-01-31T09:00:00Z', zone: BERLIN, moment: '2026-01-31T09:00:00.000Z', why: 'its own zone counts' },
  { text: '2026-01-31T09:00:00.123Z', zone: UTC, moment: '2026-01-31T09:00:00.123Z', why: 'milliseconds' },
  { text: '2026-01-31T09:00:00.123456Z', zone: UTC, moment: '2026-01-31T09:00:00.123Z', why: "Python's microseconds" },
  { text: '2026-01-31T09:00:00+09:00', zone: UTC, moment: '2026-01-31T00:00:00.000Z', why: 'an offset' },
  { text: '2026-01-31T09:00:00+0900', zone: UTC, moment: '2026-01-31T00:00:00.000Z', why: 'without its colon' },
  { text: '2026-01-31T00:30:00-05:30', zone: UTC, moment: '2026-01-31T06:00:00.000Z', why: 'of half an hour' },
  { text: '2026-01-31T23:30:00-05:00', zone: UTC, moment: '2026-02-01T04:30:00.000Z', why: 'on the next day' },
  { text: '2026-01-31T09:00Z', zone: UTC, moment: '2026-01-31T09:00:00.000Z', why: 'no seconds' },
  { text: '2024-02-29T12:00:00Z', zone: UTC, moment: '2024-02-29T12:00:00.000Z', why: 'a leap day' },
  { text: '2000-02-29T12:00:00Z', zone: UTC, moment: '2000-02-29T12:00:00.000Z', why: 'of a century that has one' },
  { text: '9999-12-31T23:59:59Z', zone: UTC, moment: '9999-12-31T23:59:59.000Z', why: 'the last' },
  // The table document's own form (his-notification-log-table.md).
  { text: '2025-06-01 10:30:00', zone: UTC, moment: '2025-06-01T10:30:00.000Z', why: 'the table document' },
  { text: '2025-06-01 10:30:00', zone: 'Asia/Tokyo', moment: '2025-06-01T01:30:00.000Z', why: 'in its zone' },
  { text: '2025-06-01T10:30:00', zone: 'Asia/Kolkata', moment: '2025-06-01T05:00:00.000Z', why: 'half an hour' },
  { text: '2025-06-01 10:30', zone: 'Asia/Kathmandu', moment: '2025-06-01T04:45:00.000Z', why: 'three quarters' },
  { text: '2025-06-01 00:15:00', zone: 'Pacific/Kiritimati', moment: '2025-05-31T10:15:00.000Z', why: 'UTC+14' },
  { text: '2025-06-01 23:15:00', zone: 'Pacific/Niue', moment: '2025-06-02T10:15:00.000Z', why: 'UTC-11' },
  { text: '2025-06-01T10:30:00+01:00', zone: 'Asia/Tokyo', moment: '2025-06-01T09:30:00.000Z', why: 'its own counts' },
  { text: '2025-06-01 10:30:00+00:00', zone: BERLIN, moment: '2025-06-01T10:30:00.000Z', why: "Python's str()" },
  { text: '2025-06-01 10:30:00.123456+09:00', zone: UTC, moment: '2025-06-01T01:30:00.123Z', why: 'with microseconds' },
  { text: '2025-06-01 10:30:00+09', zone: UTC, moment: '2025-06-01T01:30:00.000Z', why: "PostgreSQL's" },
  { text: '2025-06-01 10:30:00Z', zone: BERLIN, moment: '2025-06-01T10:30:00.000Z', why: 'a blank, and Z' },
  // Hours that clocks show twice, or never.
  { text: '2026-10-25 02:45:00', zone: BERLIN, moment: '2026-10-25T00:45:00.000Z', why: 'the first of two' },
  { text: '2026-10-25 03:00:00', zone: BERLIN, moment: '2026-10-25T02:00:00.000Z', why: 'after both' },
  { text: '2026-03-29 02:30:00', zone: BERLIN, moment: '2026-03-29T01:30:00.000Z', why: 'never shown' },
  { text: '2026-03-29 03:00:00', zone: BERLIN, moment: '2026-03-29T01:00:00.000Z', why: 'the first after it' },
  { text: '2026-11-01 01:30:00', zone: NEW_YORK, moment: '2026-11-01T05:30:00.000Z', why: 'the first of two' },
  { text: '2026-03-08 02:30:00', zone: NEW_YORK, moment: '2026-03-08T07:30:00.000Z', why: 'never shown' },
  { text: '2026-04-05 01:45:00', zone: LORD_HOWE, moment: '2026-04-04T14:45:00.000Z', why: 'half an hour twice' },
  { text: '2026-10-04 02:15:00', zone: LORD_HOWE, moment: '2026-10-03T15:45:00.000Z', why: 'half an hour never' },
  { text: '2011-12-30 12:00:00', zone: 'Pacific/Apia', moment: '2011-12-30T22:00:00.000Z', why: 'a day never' },
  // None.
  { text: '9999-12-31T23:59:59-05:00', zone: UTC, why: 'a year of five digits in UTC' },
  { text: '0000-01-01T00:00:00+09:00', zone: UTC, why: 'a year before 0 in UTC' },
  { text: '2026-02-29T09:00:00+09:00', zone: UTC, why: 'no leap year' },
  { text: '2026-02-32T09:00:00Z', zone: UTC, why: 'no such day' },
  { text: '2026-02-30T09:00:00Z', zone: UTC, why: 'no such day' },
  { text: '2025-02-29 09:00:00', zone: UTC, why: 'no leap year' },
  { text: '1900-02-29T09:00:00Z', zone: UTC, why: 'a century without a leap day' },
  { text: '2026-13-01T09:00:00Z', zone: UTC, why: 'no such month' },
  { text: '2026-04-31 09:00:00', zone: BERLIN, why: 'no such day' },
  { text: '2026-01-31T25:00:00Z', zone: UTC, why: 'no such hour' },
  { text: '2026-01-31T09:60:00Z', zone: UTC, why: 'no such minute' },
  { text: '2026-01-31T09:00:60Z', zone: UTC, why: 'a leap second, which no clock here has' },
  { text: '2026-01-31T09:00:00+25:00', zone: UTC, why: 'no such offset' },
  { text: '0000-12-31T09:00:00-00:99', zone: UTC, why: 'no such offset' },
  { text: '31.01.2026 09:00', zone: BERLIN, why: 'of Germany' },
  { text: '01/31/2026 09:00', zone: NEW_YORK, why: 'of America' },
  { text: '2026年1月31日 9:00', zone: 'Asia/Tokyo', why: 'of Japan' },
  { text: '2025-06-01 10:30:00 Asia/Tokyo', zone: UTC, why: 'a name for a zone' },
  { text: '2025-06-01 10:30:00+9', zone: UTC, why: 'half an offset' },
  { text: 'tomorrow', zone: UTC, why: 'a word' },
  { text: '', zone: UTC, why: 'nothing' },
];
