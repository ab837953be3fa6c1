import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useErrorBoundary, useMemo, useState } from 'preact/hooks';
import { problemOf } from '../data/api.ts';
import { SessionContext } from '../data/session.ts';
import { signOut } from '../data/sign-in/sign-in.ts';
import { language, switchLanguage, t } from '../language/language.ts';
import { SHORTCUTS, shortcutsOn, switchShortcuts, useKeys } from '../navigation/keys.ts';
import { navigate, usePlace } from '../navigation/router.ts';
import { type Theme, useTheme } from '../navigation/theme.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icon.tsx';
import { ScreenFrame } from '../parts/screen.tsx';
import { Problem } from '../parts/states.tsx';
import { Toasts } from '../parts/toasts.tsx';
import { offered, screenOf } from './screens.ts';

const THEMES = {
  system: { icon: 'system', name: t('Theme: as the system') },
  light: { icon: 'light', name: t('Theme: light') },
  dark: { icon: 'darkness', name: t('Theme: dark') },
} as const satisfies Record<Theme, object>;

/** The button speaks the language that it leads to. */
const OTHER_LANGUAGE =
  language === 'ja'
    ? ({ lang: 'en', name: 'Show in English' } as const)
    : ({ lang: 'ja', name: '日本語で表示' } as const);

/** Navigation beside the screen, shortcuts, and what lies above all screens. */
export function AppShell() {
  const { path } = usePlace();
  const [help, setHelp] = useState(false);
  const [menu, setMenu] = useState(false);
  const [theme, nextTheme] = useTheme();
  const session = useContext(SessionContext);
  const screens = useMemo(() => offered(session), [session]);
  const found = screenOf(path);
  const leave = signOut();

  useEffect(() => {
    document.title = `${found?.screen.title ?? t('Not found')} · notification-retry`;
    setMenu(false);
  }, [found?.screen]);
  useKeys(
    useMemo(
      () => ({
        '?': () => setHelp(true),
        t: nextTheme,
        '/': focusSearch,
        ...Object.fromEntries(
          screens.flatMap((screen) => (screen.key ? [[`g ${screen.key}`, () => navigate(screen.path)]] : [])),
        ),
      }),
      [nextTheme, screens],
    ),
  );
  const Show = found?.screen.show;
  return (
    <div class="shell-layout">
      <a class="skip" href="#main">
        {t('Skip to the content')}
      </a>
      <header class={`sidebar${menu ? ' is-open' : ''}`}>
        <Brand />
        <button
          type="button"
          class="icon-button menu-button"
          aria-expanded={menu}
          aria-controls="navigation"
          aria-label={t('Menu')}
          onClick={() => setMenu(!menu)}
        >
          <Icon name={menu ? 'close' : 'menu'} />
        </button>
        <div id="navigation" class="sidebar-body">
          <nav aria-label={t('Screens')}>
            <ul>
              {screens.map(({ path: to, title, icon }) =>
                icon === undefined ? null : (
                  <li key={to}>
                    <a href={to} aria-current={isWithin(path, to) ? 'page' : undefined}>
                      <Icon name={icon} />
                      {title}
                    </a>
                  </li>
                ),
              )}
            </ul>
          </nav>
          <div class="sidebar-foot">
            <Who />
            <div class="sidebar-tools">
              <Button name={THEMES[theme].name} icon={THEMES[theme].icon} bare onClick={nextTheme} />
              <Button
                name={t('Keyboard shortcuts')}
                title={t('Keyboard shortcuts (?)')}
                icon="help"
                bare
                onClick={() => setHelp(true)}
              />
              <Button {...OTHER_LANGUAGE} icon="language" bare onClick={() => switchLanguage(OTHER_LANGUAGE.lang)} />
              {leave !== undefined && <Button name={t('Sign out')} icon="leave" bare onClick={() => void leave()} />}
            </div>
          </div>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {Show === undefined ? (
          <ScreenFrame
            title={t('There is no such page')}
            lead={t('The address is wrong, or it is of a later version.')}
          >
            <a href="/">{t('Go to the overview')}</a>
          </ScreenFrame>
        ) : (
          <Guarded key={path}>
            <Show id={found?.id ?? ''} />
          </Guarded>
        )}
      </main>
      {help && <Help screens={screens} onClose={() => setHelp(false)} />}
      <Toasts />
    </div>
  );
}

/** A defect of one screen leaves the navigation as it is. */
function Guarded({ children }: { readonly children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary();
  return error === undefined ? children : <Problem problem={problemOf(error)} onRetry={reset} />;
}

function Brand() {
  const { stage, region } = useContext(SessionContext);
  return (
    <div class="brand">
      <span class="brand-mark" aria-hidden="true">
        <Icon name="refresh" />
      </span>
      <div class="truncate">
        <div class="brand-name">notification-retry</div>
        <div class="faint small truncate" title={`${stage} · ${region}`}>
          {stage === 'local' ? t('local runtime') : `${stage} · ${region}`}
        </div>
      </div>
    </div>
  );
}

const ROLES = { viewer: t('viewer'), operator: t('operator') } as const;

function Who() {
  const { who, role } = useContext(SessionContext);
  return (
    <div class="who truncate">
      <div class="truncate" title={who}>
        {who}
      </div>
      <div class="faint">{ROLES[role]}</div>
    </div>
  );
}

function Help({ screens, onClose }: { readonly screens: ReturnType<typeof offered>; readonly onClose: () => void }) {
  const going = screens.flatMap(({ key, title }) =>
    key ? [{ keys: `g ${key}`, does: t('Go to {title}', { title }) }] : [],
  );
  return (
    <Dialog title={t('Keyboard shortcuts')} onClose={onClose}>
      <dl class="pairs">
        {[...SHORTCUTS, ...going].map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label class="choice">
        <input
          type="checkbox"
          defaultChecked={shortcutsOn()}
          onChange={({ currentTarget }) => switchShortcuts(currentTarget.checked)}
        />
        <span>{t('Keys are shortcuts in this browser')}</span>
      </label>
    </Dialog>
  );
}

/** The search field lies on the notifications' screen. */
function focusSearch(): void {
  const focus = () => document.querySelector<HTMLInputElement>('input[type="search"]')?.focus();
  if (document.querySelector('input[type="search"]') === null) navigate('/notifications');
  setTimeout(focus);
}

function isWithin(path: string, screen: string): boolean {
  return path === screen || (screen !== '/' && path.startsWith(`${screen}/`));
}
