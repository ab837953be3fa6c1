/** Where a notification can be asked after, relative to the API. */
export function statusUrl(log_id: string): string {
  return `/v1/notifications/${encodeURIComponent(log_id)}`;
}
