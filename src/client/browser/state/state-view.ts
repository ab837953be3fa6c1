import { pathSegment } from '../../handover/retry-rules.ts';
import type { PageRequest } from '../api/request.ts';
import { answerIn, isEnd, pollDelay, type Shown, shownAfter } from './poll-delay.ts';
import {
  createLanguageWatch,
  languagesOf,
  messageOf,
  type NotificationAnswer,
  type StateTexts,
  TEXTS,
  textsFor,
} from './texts.ts';

export interface ElementSettings {
  readonly request: PageRequest;
  readonly texts: Readonly<Record<string, StateTexts>>;
  /** What was last shown, by log-id: a list that is sorted again may give an element another one, or make new ones. */
  readonly known: Map<string, NotificationAnswer>;
}

/** What of a page is the same for all of its elements. */
const LANGUAGES = createLanguageWatch();

/**
 * What `<notification-state>` shows, and when it asks. It does not extend HTMLElement: on a server, where a page's modules
 * are loaded, too, there is none.
 */
export class StateView {
  readonly #host: HTMLElement;
  readonly #settings: ElementSettings;
  readonly #message = document.createElement('span');
  readonly #button = document.createElement('button');
  /** While it is connected. */
  #listening: AbortController | undefined;
  /** What it shows is about this log-id. */
  #about: string | null | undefined;
  #shown: Shown;
  #unchanged = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;
  /** Counts what was asked for, so that a late answer about something else is ignored. */
  #asked = 0;

  constructor(host: HTMLElement, settings: ElementSettings) {
    this.#host = host;
    this.#settings = settings;
    // By attributes, as not every DOM has their properties.
    this.#message.setAttribute('part', 'message');
    this.#message.setAttribute('role', 'status');
    // The focus comes here when the button goes.
    this.#message.tabIndex = -1;
    this.#button.setAttribute('part', 'retry');
    this.#button.type = 'button';
    this.#button.hidden = true;
    this.#button.addEventListener('click', () => void this.#retry());
    host.attachShadow({ mode: 'open' }).append(this.#message, ' ', this.#button);
  }

  connect(): void {
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    document.addEventListener('visibilitychange', this.#look, { signal });
    addEventListener('online', this.#look, { signal });
    LANGUAGES.add(this.#host, () => this.#show(this.#shown));
    if (this.#about !== this.#logId()) this.#begin();
    else {
      this.#show(this.#given() ?? this.#shown);
      if (!this.#isAsking && this.#timer === undefined) this.#look();
    }
  }

  /** Who moves an element takes it out and puts it in again: what it shows and waits for stays. */
  disconnect(): void {
    this.#listening?.abort();
    this.#listening = undefined;
    LANGUAGES.remove(this.#host);
  }

  change(): void {
    // The parser sets the attributes first.
    if (this.#listening === undefined) return;
    if (this.#about !== this.#logId()) this.#begin();
    else this.#show(this.#given() ?? this.#shown);
  }

  #logId(): string | null {
    return this.#host.getAttribute('log-id') || null;
  }

  /** What the page itself says, of a notification that has no log_id yet. */
  #given(): NotificationAnswer | undefined {
    if (this.#logId() !== null) return undefined;
    const state = this.#host.getAttribute('state') ?? 'saving';
    const known = Object.hasOwn(TEXTS.en.states, state);
    const status = known ? (state as NotificationAnswer['status']) : 'saving';
    return { status, canRetry: hasFlag(this.#host, 'can-retry') };
  }

  #begin(): void {
    this.#asked++;
    this.#isAsking = false;
    this.#unchanged = 0;
    this.#about = this.#logId();
    this.#show(this.#given() ?? this.#settings.known.get(this.#about ?? ''));
    this.#look();
  }

  readonly #look = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#listening === undefined) return;
    const log_id = this.#logId();
    if (log_id === null || isEnd(this.#shown) || document.hidden) return;
    if (navigator.onLine) void this.#ask(log_id);
    else if (this.#shown === undefined) this.#show('unavailable');
  };

  async #ask(log_id: string): Promise<void> {
    const asked = ++this.#asked;
    this.#isAsking = true;
    const answer = await this.#settings.request({ log_id }, `/v1/notifications/${pathSegment(log_id)}`);
    if (asked !== this.#asked) return;
    this.#isAsking = false;
    const found = typeof answer === 'object' ? answerIn(answer) : undefined;
    const before = JSON.stringify(this.#shown);
    const now = shownAfter(this.#shown, answer);
    this.#unchanged = JSON.stringify(now) === before ? this.#unchanged + 1 : 0;
    this.#show(now);
    const retryAfterMs = typeof answer === 'object' ? (answer.retryAfterMs ?? 0) : 0;
    const delay = pollDelay(found, this.#unchanged, { now: Date.now(), random: Math.random(), retryAfterMs });
    if (delay !== undefined) this.#timer = setTimeout(this.#look, delay);
  }

  #show(shown: Shown): void {
    const texts = textsFor(languagesOf(this.#host), this.#settings.texts);
    const before = this.#shown;
    this.#shown = shown;
    const isAnswer = typeof shown === 'object';
    if (isAnswer && this.#about) remember(this.#settings.known, this.#about, shown);
    const message = isAnswer ? messageOf(shown, texts) : shown === undefined ? '' : texts.unavailable;
    // The same text again would be announced again.
    if (this.#message.textContent !== message) this.#message.textContent = message;
    // A framework that goes on with a server's page warns of attributes that are there before there is anything to say.
    if (shown !== undefined || before !== undefined) this.#host.dataset['state'] = isAnswer ? shown.status : 'unknown';
    this.#button.textContent = texts.retry;
    const canRetry = isAnswer && shown.canRetry;
    if (!canRetry && this.#host.shadowRoot?.activeElement === this.#button) this.#message.focus();
    this.#button.hidden = !canRetry;
    if (isAnswer && JSON.stringify(before) !== JSON.stringify(shown)) {
      this.#host.dispatchEvent(new CustomEvent('notification-state', { detail: shown, bubbles: true, composed: true }));
    }
  }

  async #retry(): Promise<void> {
    const retry = new CustomEvent('notification-retry', { bubbles: true, composed: true, cancelable: true });
    const log_id = this.#logId();
    const isAsked = this.#button.getAttribute('aria-disabled') === 'true';
    if (!this.#host.dispatchEvent(retry) || log_id === null || isAsked) return;
    clearTimeout(this.#timer);
    this.#button.setAttribute('aria-disabled', 'true');
    const asked = ++this.#asked;
    const path = `/v1/notifications/${pathSegment(log_id)}/retry`;
    const answer = await this.#settings.request({ log_id }, path, { method: 'POST' });
    this.#button.removeAttribute('aria-disabled');
    if (asked !== this.#asked) return;
    if (typeof answer === 'object' && answer.status === 202) this.#show({ status: 'retrying', canRetry: false });
    this.#unchanged = 0;
    // Refused or not: the API knows best what state it is in now.
    this.#timer = setTimeout(this.#look, 1_000);
  }
}

const MOST_KNOWN = 1_000;

function remember(known: ElementSettings['known'], log_id: string, shown: NotificationAnswer): void {
  known.delete(log_id);
  known.set(log_id, shown);
  const [oldest = ''] = known.size > MOST_KNOWN ? known.keys() : [];
  known.delete(oldest);
}

/** React 18 and Vue write `false` as an attribute. */
export const hasFlag = (host: Element, name: string): boolean => (host.getAttribute(name) ?? 'false') !== 'false';
