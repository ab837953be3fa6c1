import { useEffect, useState } from 'preact/hooks';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'console-theme';
const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };

/** It and whether keys are shortcuts are all that the page keeps in the browser. */
export function savedTheme(): Theme {
  try {
    const saved = localStorage.getItem(KEY);
    return saved === 'light' || saved === 'dark' ? saved : 'system';
  } catch {
    return 'system';
  }
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  dispatchEvent(new Event('console:theme'));
}

export function useTheme(): [theme: Theme, next: () => void] {
  const [theme, setTheme] = useState(savedTheme);
  useEffect(() => applyTheme(theme), [theme]);
  const next = () => {
    const chosen = NEXT[theme];
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // A browser that keeps nothing forgets the theme with the tab.
    }
    setTheme(chosen);
  };
  return [theme, next];
}
