/** Strokes on a 16 × 16 grid. Icons only accompany words, or a label that a screen reader gets. */
const PATHS = {
  overview: 'M2 13V8m4 5V3m4 10V6m4 7v-3',
  notifications: 'M2 4h12M2 8h12M2 12h8',
  dead: 'M2 9h3l1 2h4l1-2h3M2 9l2-6h8l2 6v4H2z',
  operations: 'M13.5 6A6 6 0 1 0 14 9M14 2.5V6h-3.5',
  newsletters: 'M2 3.5h12v9H2zM2 4l6 5 6-5',
  keys: 'M10.5 9.5a4 4 0 1 0-3-3L2 12v2h2.5v-1.5H6V11h1.5z',
  audit: 'M8 4.5V8l2.5 1.5M14 8A6 6 0 1 1 8 2a6 6 0 0 1 6 6z',
  search: 'M11 11l3 3M12 7.5A4.5 4.5 0 1 1 7.5 3 4.5 4.5 0 0 1 12 7.5z',
  close: 'M4 4l8 8M12 4l-8 8',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  alert: 'M8 6v3.5M8 12v.01M8 1.5L15 14H1z',
  copy: 'M5.5 5.5V2.5h8v8h-3M2.5 5.5h8v8h-8z',
  right: 'M6 3.5L10.5 8 6 12.5',
  left: 'M10 3.5L5.5 8l4.5 4.5',
  language: 'M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 0 1 0-13zM1.5 8h13M8 1.5c-4.5 3.5-4.5 9.5 0 13c4.5-3.5 4.5-9.5 0-13z',
  menu: 'M2 4h12M2 8h12M2 12h12',
  light: 'M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1M11 8a3 3 0 1 1-3-3 3 3 0 0 1 3 3z',
  darkness: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z',
  system: 'M2 3h12v8H2zM6 14h4M8 11v3',
  help: 'M6 6a2 2 0 1 1 2.8 1.9c-.5.2-.8.6-.8 1.1v.5M8 12v.01M14.5 8A6.5 6.5 0 1 1 8 1.5 6.5 6.5 0 0 1 14.5 8z',
  eye: 'M1 8s2.5-4.5 7-4.5S15 8 15 8s-2.5 4.5-7 4.5S1 8 1 8zM10 8a2 2 0 1 1-2-2 2 2 0 0 1 2 2z',
  pause: 'M5.5 3v10M10.5 3v10',
  play: 'M4.5 2.5l8 5.5-8 5.5z',
  plus: 'M8 3v10M3 8h10',
  refresh: 'M13.5 6A6 6 0 1 0 14 9M14 2.5V6h-3.5',
  leave: 'M6.5 2.5h-4v11h4M6 8h8M11 5l3 3-3 3',
  skip: 'M3 8h10',
  clock: 'M8 4.5V8l2.5 1.5M14 8A6 6 0 1 1 8 2a6 6 0 0 1 6 6z',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
