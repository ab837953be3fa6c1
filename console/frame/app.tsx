import { useEffect, useErrorBoundary, useState } from 'preact/hooks';
import type { ProblemBody } from '../../src/application/contract/fields.ts';
import type { SessionView } from '../../src/application/contract/overview.ts';
import { ProblemError, problemOf, read } from '../data/api.ts';
import { SessionContext, type SignedOut, type SignIn } from '../data/session.ts';
import { onSignedOut, sessionEnded, signIn, signOut } from '../data/sign-in/sign-in.ts';
import { t } from '../language/language.ts';
import { followLinks } from '../navigation/router.ts';
import { Button } from '../parts/button.tsx';
import { Empty, Loading, Problem } from '../parts/states.tsx';
import { AppShell } from './shell.tsx';

type Start =
  | { readonly state: 'starting' }
  | { readonly state: 'in'; readonly session: SessionView }
  | { readonly state: 'out'; readonly signIn: SignedOut }
  | { readonly state: 'failed'; readonly problem: ProblemBody };

async function start(): Promise<Start> {
  try {
    const result = await signIn();
    if (result.state !== 'in') return notIn(result);
    return { state: 'in', session: await read('GET /api/session', {}, {}) };
  } catch (error) {
    const denied = error instanceof ProblemError && error.problem.status === 401;
    return denied ? notIn(sessionEnded()) : { state: 'failed', problem: problemOf(error) };
  }
}

function notIn(result: SignIn): Start {
  return result.state === 'out' ? { state: 'out', signIn: result } : { state: 'starting' };
}

/** Signs in, then shows the screens. The session's end brings the sign-in back, whatever screen was shown. */
export function App() {
  const [now, setNow] = useState<Start>({ state: 'starting' });
  const [error, reset] = useErrorBoundary();
  const begin = () => void start().then(setNow);
  useEffect(() => {
    onSignedOut((out) => setNow(notIn(out)));
    // The browser's back button brings the page back as it left for the issuer.
    addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
    document.addEventListener('click', followLinks);
    begin();
    return () => document.removeEventListener('click', followLinks);
  }, []);
  if (error !== undefined)
    return (
      <main class="alone">
        <Problem problem={problemOf(error)} onRetry={reset} />
      </main>
    );
  if (now.state === 'in')
    return (
      <SessionContext.Provider value={now.session}>
        <AppShell />
      </SessionContext.Provider>
    );
  return (
    <main class="alone">
      <h1 class="visually-hidden">notification-retry</h1>
      {now.state === 'starting' && <Loading what={t('the console')} lines={3} />}
      {now.state === 'out' && (
        <Empty icon="keys" title={t('Sign in')} text={now.signIn.why}>
          <p>{now.signIn.remedy}</p>
          {now.signIn.again !== undefined && <Button name={t('Sign in')} kind="primary" onClick={now.signIn.again} />}
        </Empty>
      )}
      {now.state === 'failed' && (
        <>
          <Problem problem={now.problem} onRetry={begin} />
          <SignOut />
        </>
      )}
    </main>
  );
}

/** Who may not use the console can leave and come back as somebody else. */
function SignOut() {
  const leave = signOut();
  if (leave === undefined) return null;
  return <Button name={t('Sign out')} onClick={() => void leave()} />;
}
