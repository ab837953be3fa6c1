import { pathSegment } from '../../handover/retry-rules.ts';
import { type ApiOptions, createPageRequest, type PageRequest } from '../api/request.ts';
import { LONGEST_TIMER_MS } from '../queue/run-queue.ts';
import { isEnd, pollDelay, type Shown, shownAfter } from './poll-delay.ts';
import { messageOf, type NotificationAnswer, type StateTexts, textsFor } from './texts.ts';

interface ElementSettings {
  readonly request: PageRequest;
  readonly texts: Readonly<Record<string, StateTexts>>;
}

/**
 * `<notification-state log-id="…">` shows the state of a notification until nothing changes any more, with a button
 * where a retry is possible. Without a log-id it shows its attribute `state`, for what the page has not handed over yet.
 * It asks rarely and, while nobody looks at the page, not at all. Parts: `message`, `retry`.
 */
class NotificationStateElement extends HTMLElement {
  static readonly observedAttributes = ['log-id', 'state', 'can-retry', 'lang'];
  readonly #settings: ElementSettings;
  readonly #message = document.createElement('span');
  readonly #button = document.createElement('button');
  #shown: Shown;
  #unchanged = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Counts what was asked for, so that a late answer about something else is ignored. */
  #asked = 0;

  constructor(settings: ElementSettings) {
    super();
    this.#settings = settings;
    this.#message.part.add('message');
    this.#message.role = 'status';
    // The focus comes here when the button goes.
    this.#message.tabIndex = -1;
    this.#button.part.add('retry');
    this.#button.type = 'button';
    this.#button.hidden = true;
    this.#button.addEventListener('click', () => void this.#retry());
    this.attachShadow({ mode: 'open' }).append(this.#message, ' ', this.#button);
  }

  connectedCallback(): void {
    document.addEventListener('visibilitychange', this.#look);
    addEventListener('online', this.#look);
    this.#begin();
  }

  disconnectedCallback(): void {
    document.removeEventListener('visibilitychange', this.#look);
    removeEventListener('online', this.#look);
    clearTimeout(this.#timer);
    this.#asked++;
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (!this.isConnected || before === after) return;
    if (name === 'log-id') this.#begin();
    else this.#show(this.#given() ?? this.#shown);
  }

  /** What the page itself says, of a notification that has no log_id yet. */
  #given(): NotificationAnswer | undefined {
    if (this.getAttribute('log-id')) return undefined;
    const state = this.getAttribute('state') ?? 'saving';
    const known = Object.hasOwn(this.#texts().states, state);
    const status = known ? (state as NotificationAnswer['status']) : 'saving';
    return { status, canRetry: this.hasAttribute('can-retry') };
  }

  #begin(): void {
    this.#asked++;
    this.#unchanged = 0;
    this.#show(this.#given());
    this.#look();
  }

  readonly #look = (): void => {
    clearTimeout(this.#timer);
    const log_id = this.getAttribute('log-id');
    if (log_id && !isEnd(this.#shown) && !document.hidden && navigator.onLine) void this.#ask(log_id);
  };

  async #ask(log_id: string): Promise<void> {
    const asked = ++this.#asked;
    const answer = await this.#settings.request({ log_id }, `/v1/notifications/${pathSegment(log_id)}`);
    if (asked !== this.#asked) return;
    const found = typeof answer === 'object' && answer.status === 200 ? (answer.json as NotificationAnswer) : undefined;
    const before = JSON.stringify(this.#shown);
    const now = shownAfter(this.#shown, answer);
    this.#unchanged = JSON.stringify(now) === before ? this.#unchanged + 1 : 0;
    this.#show(now);
    const delay = pollDelay(found, this.#unchanged, { now: Date.now(), random: Math.random() });
    const least = typeof answer === 'object' ? (answer.retryAfterMs ?? 0) : 0;
    if (delay !== undefined) this.#timer = setTimeout(this.#look, Math.min(Math.max(delay, least), LONGEST_TIMER_MS));
  }

  #show(shown: Shown): void {
    const texts = this.#texts();
    const before = this.#shown;
    this.#shown = shown;
    const isAnswer = typeof shown === 'object';
    const message = isAnswer ? messageOf(shown, texts) : shown === undefined ? '' : texts.unavailable;
    // The same text again would be announced again.
    if (this.#message.textContent !== message) this.#message.textContent = message;
    this.dataset['state'] = isAnswer ? shown.status : 'unknown';
    this.#button.textContent = texts.retry;
    const canRetry = isAnswer && shown.canRetry;
    if (!canRetry && this.shadowRoot?.activeElement === this.#button) this.#message.focus();
    this.#button.hidden = !canRetry;
    if (isAnswer && JSON.stringify(before) !== JSON.stringify(shown)) {
      this.dispatchEvent(new CustomEvent('notification-state', { detail: shown, bubbles: true, composed: true }));
    }
  }

  async #retry(): Promise<void> {
    const retry = new CustomEvent('notification-retry', { bubbles: true, composed: true, cancelable: true });
    const log_id = this.getAttribute('log-id');
    if (!this.dispatchEvent(retry) || !log_id || this.#button.ariaDisabled === 'true') return;
    clearTimeout(this.#timer);
    this.#button.ariaDisabled = 'true';
    const asked = ++this.#asked;
    const path = `/v1/notifications/${pathSegment(log_id)}/retry`;
    const answer = await this.#settings.request({ log_id }, path, { method: 'POST' });
    this.#button.ariaDisabled = null;
    if (asked !== this.#asked) return;
    if (typeof answer === 'object' && answer.status === 202) this.#show({ status: 'retrying', canRetry: false });
    this.#unchanged = 0;
    // Refused or not: the API knows best what state it is in now.
    this.#timer = setTimeout(this.#look, 1_000);
  }

  #texts(): StateTexts {
    const language = this.closest<HTMLElement>('[lang]')?.lang || navigator.language;
    return textsFor(language, this.#settings.texts);
  }
}

export interface StateOptions extends ApiOptions {
  /** Texts by language, such as `fr` or `en-gb`, beside or in place of those for `en` and `ja`. */
  readonly texts?: Readonly<Record<string, StateTexts>>;
  /** Name of the element; `notification-state` unless given. */
  readonly tagName?: string;
}

/** Defines `<notification-state>` (retry-and-idempotency-design.md §5). @throws DOMException if that was done */
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
