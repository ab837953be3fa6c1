/** A frame knows only the scheme of the browser. */
export const inScheme = (style: string, dark: boolean): string =>
  style
    .replaceAll(/\(\s*prefers-color-scheme\s*:\s*(dark|light)\s*\)/gi, (_, scheme: string) =>
      (scheme.toLowerCase() === 'dark') === dark ? '(min-width:0)' : '(max-width:0)',
    )
    .replaceAll(/\bcolor-scheme\s*:([^;}]*)/gi, (declaration, value: string) =>
      /\bdark\b/i.test(value) ? `color-scheme:${dark ? 'dark' : 'light'}` : declaration,
    );
