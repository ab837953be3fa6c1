import { type ApiOptions, createPageRequest } from '../api/request.ts';
import { type ElementSettings, hasFlag, StateView } from './state-view.ts';
import type { StateTexts } from './texts.ts';

export interface StateOptions extends ApiOptions {
  /** Texts by language, such as `fr` or `pt-BR`, beside or in place of those for `en` and `ja`. */
  readonly texts?: Readonly<Record<string, StateTexts>>;
  /** Name of the element; `notification-state` unless given. */
  readonly tagName?: string;
}

/** The element, for `document.createElement` and frameworks. Its properties are its attributes. */
export interface NotificationStateElement extends HTMLElement {
  logId: string | null;
  state: string | null;
  canRetry: boolean;
}

const PROPERTIES = ['logId', 'state', 'canRetry'] satisfies (keyof NotificationStateElement)[];

/**
 * Defines `<notification-state log-id="…">` (retry-and-idempotency-design.md §5). It shows the state of a notification
 * until nothing changes any more, with a button where a retry is possible. Without a log-id it shows its attribute `state`,
 * for what the page has not handed over yet. It asks rarely and, while nobody looks at the page, not at all. Parts:
 * `message`, `retry`. On a server, which has no elements, it does nothing. A second call for a name replaces its settings.
 * @throws TypeError for the URL; DOMException if the name is no name of an element, or is somebody else's
 */
export function defineNotificationState({ texts = {}, tagName = 'notification-state', ...api }: StateOptions): void {
  if (typeof customElements === 'undefined') return;
  const settings: ElementSettings = { request: createPageRequest(api), texts, known: new Map() };
  const before = DEFINED.get(customElements.get(tagName) ?? HTMLElement);
  // A module that was changed while its page was open, or React's second look at an effect in development.
  if (before !== undefined) return void Object.assign(before, settings);
  const element = elementClass(settings);
  customElements.define(tagName, element);
  DEFINED.set(element, settings);
}

/** The settings of the elements that were defined here. */
const DEFINED = new WeakMap<CustomElementConstructor, ElementSettings>();

function elementClass(settings: ElementSettings): CustomElementConstructor {
  return class extends HTMLElement {
    static readonly observedAttributes = ['log-id', 'state', 'can-retry', 'lang'];
    readonly #view = new StateView(this, settings);

    connectedCallback(): void {
      takeOver(this);
      this.#view.connect();
    }

    disconnectedCallback(): void {
      this.#view.disconnect();
    }

    attributeChangedCallback(_: string, before: string | null, after: string | null): void {
      if (before !== after) this.#view.change();
    }

    get logId(): string | null {
      return this.getAttribute('log-id');
    }

    set logId(logId: unknown) {
      write(this, 'log-id', logId);
    }

    get state(): string | null {
      return this.getAttribute('state');
    }

    set state(state: unknown) {
      write(this, 'state', state);
    }

    get canRetry(): boolean {
      return hasFlag(this, 'can-retry');
    }

    set canRetry(can: unknown) {
      write(this, 'can-retry', can && can !== 'false' ? '' : undefined);
    }
  };
}

function write(element: Element, attribute: string, text: unknown): void {
  if (text === undefined || text === null) element.removeAttribute(attribute);
  else element.setAttribute(attribute, String(text));
}

/** Properties that were set before the element was defined hide those of its class. */
function takeOver(element: HTMLElement): void {
  for (const name of PROPERTIES) {
    const given = Object.getOwnPropertyDescriptor(element, name);
    if (given === undefined) continue;
    Reflect.deleteProperty(element, name);
    Reflect.set(element, name, given.value);
  }
}
