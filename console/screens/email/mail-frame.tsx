import { useEffect, useRef } from 'preact/hooks';
import type { MailPreview } from '../../../src/application/contract/newsletters.ts';
import { t } from '../../language/language.ts';
import { inScheme } from './in-scheme.ts';

interface MailFrameProps {
  readonly frame: MailPreview['frame'];
  readonly phone: boolean;
  readonly dark: boolean;
}

/**
 * A mail in a frame of its own, which runs no script. The page's policy holds in it, too: nothing is fetched, and styles
 * are set from here, as it takes none in the markup. Its width and its scheme are those of a reader, not of this page.
 */
export function MailFrame({ frame: { html, styles }, phone, dark }: MailFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const dress = () => {
    const { contentDocument: page, contentWindow } = frame.current ?? {};
    const view = contentWindow as (Window & typeof globalThis) | null | undefined;
    if (!page || !view) return;
    for (const element of page.querySelectorAll<HTMLElement>('[data-style]')) {
      element.style.cssText = element.dataset['style'] ?? '';
    }
    page.adoptedStyleSheets = styles.map((style) => {
      const sheet = new view.CSSStyleSheet();
      sheet.replaceSync(inScheme(style, dark));
      return sheet;
    });
  };
  useEffect(dress, [styles, dark]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: What scrolls sideways needs the focus for the keyboard.
    <section class="mail-window" tabIndex={0} aria-label={t('HTML of the mail')}>
      <iframe
        ref={frame}
        class={phone ? 'is-phone' : undefined}
        title={t('The mail')}
        sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox"
        srcdoc={html}
        onLoad={dress}
      />
    </section>
  );
}
