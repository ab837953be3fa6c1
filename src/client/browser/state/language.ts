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
