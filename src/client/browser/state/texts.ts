import type { PublicState } from '../../../core/intake/public-state.ts';
import type { ErrorType } from '../../../core/model/error-types.ts';

/** What the element says in one language. */
export interface StateTexts {
  readonly states: Readonly<Record<PublicState, string>>;
  /** On the button. */
  readonly retry: string;
  /** While the API does not answer, or has no such notification. */
  readonly unavailable: string;
  /** It failed, and continues on its fallback channel. */
  readonly continues: string;
  /** Why it failed. Absent: the API's own sentences, which are English. */
  readonly causes?: Readonly<Partial<Record<ErrorType, string>>>;
}

export const TEXTS: Readonly<Record<'en' | 'ja', StateTexts>> = {
  en: {
    states: {
      saving: 'Waiting to be sent.',
      processing: 'Being sent.',
      done: 'Sent.',
      failed: 'Not sent.',
      retrying: 'Not sent yet. Another attempt follows.',
    },
    retry: 'Try again',
    unavailable: 'The state cannot be shown at the moment.',
    continues: 'It continues on another channel.',
  },
  ja: {
    states: {
      saving: '送信を待っています。',
      processing: '送信しています。',
      done: '送信しました。',
      failed: '送信できませんでした。',
      retrying: 'まだ送信できていません。再試行します。',
    },
    retry: '再試行',
    unavailable: '現在、状態を表示できません。',
    continues: '別のチャネルで送信を続けています。',
    causes: {
      NETWORK_TIMEOUT: '送信先から時間内に応答がありませんでした。',
      UNKNOWN: '送信先がエラーを返しました。',
      SERVER_OVERLOAD: '送信先が混雑しているか、停止しています。',
      RATE_LIMITED: '送信先が受け付けを一時的に制限しています。',
      AUTH_TEMPORARY: '送信先への認証に一時的に失敗しました。',
      INVALID_RECIPIENT: '宛先が存在しないか、受信できません。宛先を直して、もう一度送信してください。',
      AUTH_FAILED: '送信先への認証に失敗しました。連携の設定を確認する必要があります。',
      FORMAT_ERROR: '送信先がメッセージの形式を受け付けませんでした。文面またはテンプレートの修正が必要です。',
      PERMISSION_DENIED: '送信先に投稿する権限がありません。権限の付与が必要です。',
      MAX_RETRIES: '再試行の回数が上限に達しました。',
      EXPIRED: '送信できる期限を過ぎました。',
      CANCELLED: '送信は取り消されました。',
    },
  },
};

/** What the API says of a notification, as far as the element shows it. */
export interface NotificationAnswer {
  readonly status: PublicState;
  readonly canRetry: boolean;
  readonly errorMessage?: string;
  readonly error_type?: ErrorType;
  readonly next_retry_at?: string;
  readonly scheduled_at?: string;
  readonly successor_log_id?: string;
}

export function messageOf(answer: NotificationAnswer, texts: StateTexts): string {
  const { status, errorMessage, error_type, successor_log_id } = answer;
  const said = texts.states[status];
  if (status !== 'failed') return said;
  if (texts.causes === undefined) return errorMessage === undefined ? said : `${said} ${errorMessage}`;
  const cause = error_type === undefined ? undefined : texts.causes[error_type];
  const parts = [said, successor_log_id === undefined ? cause : texts.continues];
  return parts.filter((part) => part !== undefined).join(' ');
}

/** The texts of the first language that there are some for, such as `ja` for `ja-JP`; else the English ones. */
export function textsFor(
  languages: string | readonly string[],
  more: Readonly<Record<string, StateTexts>>,
): StateTexts {
  const all = new Map<string, StateTexts>([...Object.entries(TEXTS), ...Object.entries(more)]);
  const own = all.get(lookUp([languages].flat(), [...all.keys()]) ?? 'en') ?? TEXTS.en;
  // Who writes no types may leave some out.
  return { ...TEXTS.en, ...own, states: { ...TEXTS.en.states, ...own.states } };
}

/**
 * The tag that fits one of the ranges best, by the lookup of RFC 4647 §3.4: each range in turn, shortened from its end.
 * @param ranges such as `zh-Hant-TW`, also as POSIX writes them: `pt_BR.UTF-8`
 */
export function lookUp(ranges: readonly string[], tags: readonly string[]): string | undefined {
  const known = new Map(tags.map((tag) => [normalized(tag), tag]));
  for (const range of ranges) {
    for (let name = normalized(range); name !== ''; name = shortened(name)) {
      const tag = known.get(name);
      if (tag !== undefined) return tag;
    }
  }
  return undefined;
}

const normalized = (tag: string): string =>
  tag
    .trim()
    .toLowerCase()
    .replace(/[.@].*/, '')
    .replaceAll('_', '-');

/** Without its last subtag, and without single letters before that, which only introduce it. */
const shortened = (name: string): string => name.replace(/(?:^|-)[^-]*$/, '').replace(/(?:-[^-])+$/, '');

/** The languages of an element: that of the next `lang` around it, out of shadow roots, too; else the person's. */
export function languagesOf(element: Element): readonly string[] {
  for (const at of [element, ...hostsOf(element)]) {
    const language = at.closest('[lang]')?.getAttribute('lang');
    if (language) return [language];
    // HTML: it is not known, whatever is around.
    if (language === '') break;
  }
  return navigator.languages ?? [navigator.language];
}

function hostsOf(element: Element): Element[] {
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? [root.host, ...hostsOf(root.host)] : [];
}

/** Tells elements when a `lang` around them has changed: one observer for all of a page. */
export function createLanguageWatch() {
  const watching = new Map<Element, () => void>();
  // Weak: shadow roots come and go while others stay.
  let observed = new WeakSet<Node>();
  let observer: MutationObserver | undefined;
  return {
    add(element: Element, onChange: () => void): void {
      watching.set(element, onChange);
      observer ??= new MutationObserver(() => {
        for (const tell of watching.values()) tell();
      });
      for (const root of [element, ...hostsOf(element)].map((at) => at.getRootNode())) {
        if (observed.has(root)) continue;
        observed.add(root);
        observer.observe(root, { subtree: true, attributeFilter: ['lang'] });
      }
    },
    remove(element: Element): void {
      watching.delete(element);
      if (watching.size > 0) return;
      observer?.disconnect();
      observed = new WeakSet();
    },
  };
}
