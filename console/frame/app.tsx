import { useEffect, useState } from 'preact/hooks';
import type { ProblemBody } from '../../src/console-api/page.ts';
import type { SessionView } from '../../src/console-api/session.ts';
import { ProblemError, problemOf, read } from '../data/api.ts';
import { SessionContext } from '../data/session.ts';
import { needsLink, onSignedOut, type SignIn, signIn } from '../data/sign-in.ts';
import { followLinks } from '../navigation/router.ts';
import { Empty, Loading, Problem } from '../parts/states.tsx';
import { Shell } from './shell.tsx';

type Start =
  | { readonly state: 'starting' }
  | { readonly state: 'in'; readonly session: SessionView }
  | { readonly state: 'out'; readonly signIn: Extract<SignIn, { state: 'out' }> }
  | { readonly state: 'failed'; readonly problem: ProblemBody };

async function start(): Promise<Start> {
  try {
    const result = await signIn();
    if (result.state === 'out') return { state: 'out', signIn: result };
    return { state: 'in', session: await read('GET /api/session', {}, {}) };
  } catch (error) {
    const denied = error instanceof ProblemError && error.problem.status === 401;
    return denied ? signedOut() : { state: 'failed', problem: problemOf(error) };
  }
}

function signedOut(): Start {
  const result = needsLink();
  return result.state === 'out' ? { state: 'out', signIn: result } : { state: 'starting' };
}

/** Signs in, then shows the screens. The session's end brings the sign-in back, whatever screen was shown. */
export function App() {
  const [now, setNow] = useState<Start>({ state: 'starting' });
  const begin = () => void start().then(setNow);
  useEffect(() => {
    onSignedOut(() => setNow(signedOut()));
    document.addEventListener('click', followLinks);
    begin();
    return () => document.removeEventListener('click', followLinks);
  }, []);
  switch (now.state) {
    case 'starting':
      return (
        <main class="alone">
          <Loading what="the console" lines={3} />
        </main>
      );
    case 'out':
      return (
        <main class="alone">
          <Empty icon="keys" title="Sign in">
            <p>{now.signIn.why}</p>
            <p>{now.signIn.remedy}</p>
          </Empty>
        </main>
      );
    case 'failed':
      return (
        <main class="alone">
          <Problem problem={now.problem} onRetry={begin} />
        </main>
      );
    case 'in':
      return (
        <SessionContext.Provider value={now.session}>
          <Shell />
        </SessionContext.Provider>
      );
  }
}
