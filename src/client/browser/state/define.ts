import { type ApiOptions, createPageRequest } from '../api/request.ts';
import { NotificationStateElement } from './notification-state.ts';
import type { StateTexts } from './texts.ts';

export interface StateOptions extends ApiOptions {
  /** Texts by language, such as `fr` or `en-gb`, beside or in place of those for `en` and `ja`. */
  readonly texts?: Readonly<Record<string, StateTexts>>;
  /** Name of the element; `notification-state` unless given. */
  readonly tagName?: string;
}

/**
 * Defines the element `<notification-state>` for this page (retry-and-idempotency-design.md §5).
 * @throws DOMException if the page has defined it before
 */
export function defineNotificationState({ texts = {}, tagName = 'notification-state', ...api }: StateOptions): void {
  const settings = { request: createPageRequest(api), texts };
  customElements.define(
    tagName,
    class extends NotificationStateElement {
      constructor() {
        super(settings);
      }
    },
  );
}
