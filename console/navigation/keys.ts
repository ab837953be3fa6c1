import { useLayoutEffect } from 'preact/hooks';
import { t } from '../language/language.ts';

/** A key, or two keys in a row ("g o"), with what it does. */
export interface Shortcut {
  readonly keys: string;
  readonly does: string;
}

export type Bindings = Readonly<Record<string, () => void>>;

/** Longest pause between the two keys of a sequence. */
const SEQUENCE_MS = 1_000;

const SAVED = 'console-shortcuts';

/** Whether keys without Ctrl do something: who dictates, or hits a key by accident, switches them off (WCAG 2.1.4). */
export function shortcutsOn(): boolean {
  try {
    return localStorage.getItem(SAVED) !== 'off';
  } catch {
    return true;
  }
}

export function switchShortcuts(on: boolean): void {
  try {
    localStorage.setItem(SAVED, on ? 'on' : 'off');
  } catch {
    // A browser that keeps nothing has them always.
  }
}

let first: { readonly key: string; readonly at: number } | undefined;

/** Reacts to keys while no field has the focus and no dialog is open. Keys with Ctrl, Alt or Meta stay the browser's. */
export function useKeys(bindings: Bindings): void {
  // As soon as the rows can be seen: an effect after the paint would lose the first key of a fast hand.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isMeantElsewhere(event.target))
        return;
      const before = first !== undefined && event.timeStamp - first.at < SEQUENCE_MS ? `${first.key} ` : '';
      const bound = bindings[before + event.key] ?? (before === '' ? bindings[event.key] : undefined);
      if (event.key === 'g') first = { key: 'g', at: event.timeStamp };
      if (bound === undefined) return;
      first = undefined;
      event.preventDefault();
      bound();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [bindings]);
}

function isMeantElsewhere(target: EventTarget | null): boolean {
  if (!shortcutsOn() || document.querySelector('dialog[open]') !== null) return true;
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null;
}

/** Beside them, each screen of the navigation has its own. */
export const SHORTCUTS: readonly Shortcut[] = [
  { keys: '/', does: t('Search notifications') },
  { keys: 'j', does: t('Next row, or next notification of the list') },
  { keys: 'k', does: t('Previous row, or previous notification') },
  { keys: 'Enter', does: t('Open the row') },
  { keys: 'x', does: t('Select the row') },
  { keys: 'p', does: t('Pause the list of notifications, or follow it') },
  { keys: 't', does: t('Change the theme') },
  { keys: '?', does: t('Show this list') },
];
