/**
 * A browser may name a language that its own `Intl` refuses, such as `en-US@posix`. The library of the charts formats by
 * `navigator.language` as soon as it is imported, so this module is imported before every other one.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
}
