/** The package has no types. These are the parts that are used. */
declare module 'html-to-text' {
  interface SelectorOptions {
    selector: string;
    format?: string;
    options?: Readonly<Record<string, unknown>>;
  }
  interface ConvertOptions {
    wordwrap?: number | false;
    selectors?: SelectorOptions[];
    limits?: { maxInputLength?: number };
  }
  export function convert(html: string, options?: ConvertOptions): string;
}
