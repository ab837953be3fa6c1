import { useContext, useEffect, useState } from 'preact/hooks';
import type { VerificationView } from '../../../src/application/contract/operations.ts';
import { write } from '../../data/api.ts';
import { SessionContext } from '../../data/session.ts';
import { useRead } from '../../data/use-read.ts';
import { count, plural, said, t } from '../../language/language.ts';
import { Badge, type Tone } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Dotted, Group } from '../../parts/screen.tsx';
import { OpsCommands } from '../../parts/shell-command.tsx';
import { Problem } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { useAct } from '../../parts/toasts.tsx';

const WORDS: Readonly<Record<VerificationView['status'], readonly [Tone, string]>> = {
  running: ['busy', t('Running')],
  interrupted: ['wait', t('Interrupted')],
  done: ['good', t('Nothing is lost')],
  stopped: ['none', t('Stopped')],
  failed: ['bad', t('Failed')],
};

/** Milliseconds between two looks at one that runs. */
const LOOK_MS = 2_000;

/** Whether anything is lost: proven on the tables, when somebody asks for it or by schedule. */
export function Verification() {
  const session = useContext(SessionContext);
  const [running, setRunning] = useState(false);
  const { data, problem, refresh } = useRead('GET /api/verification', {}, {}, running ? { every: LOOK_MS } : {});
  const latest = data?.verification;
  const runs = latest?.status === 'running';
  useEffect(() => setRunning(runs), [runs]);
  const [busy, act] = useAct(refresh);
  const broken = latest?.result?.holds === false;
  const [tone, word] = broken ? (['bad', t('Rules are broken')] as const) : WORDS[latest?.status ?? 'stopped'];
  return (
    <Group
      id="verification"
      title={
        <>
          {t('Verification')}
          {latest && <Badge tone={tone}>{word}</Badge>}
        </>
      }
      facts={
        latest ? (
          <>
            {t('by {who}', { who: latest.started_by })} · {<Time at={latest.ended_at ?? latest.started_at} />}
          </>
        ) : (
          t(
            'Proves on the tables that nothing is lost, and that all sums add up. It reads them whole, and changes nothing.',
          )
        )
      }
      actions={
        session.role === 'operator' && (
          <Button
            name={running ? t('Stop verifying') : latest?.status === 'interrupted' ? t('Go on verifying') : t('Verify')}
            disabled={busy}
            onClick={() =>
              act((request_id) => write(`POST /api/verification/${running ? 'stop' : 'start'}`, {}, { request_id }))
            }
          />
        )
      }
    >
      {problem !== undefined && <Problem problem={problem} onRetry={refresh} />}
      {latest && latest.result === null && <Progress verification={latest} />}
      {latest?.result && <Result result={latest.result} />}
      {latest && latest.error !== null && <p class="group-line note tone-bad">{said(latest.error)}</p>}
      <OpsCommands open={broken} of={{ [t('With each letter looked at')]: 'verify --letters' }} />
    </Group>
  );
}

function Progress({ verification: { progress, status } }: { readonly verification: VerificationView }) {
  const { phase, scanned, suspects, violated } = progress;
  return (
    <div class="group-line" role={status === 'running' ? 'status' : undefined}>
      <p class="soft">
        <Dotted
          of={[
            t('{n} read, now {phase}', { n: plural(scanned, 'notification'), phase: said(phase) }),
            suspects > 0 && t('{n} to look at again in a minute', { n: count(suspects) }),
            violated > 0 && plural(violated, 'violation'),
          ]}
        />
      </p>
    </div>
  );
}

function Result({ result }: { readonly result: NonNullable<VerificationView['result']> }) {
  const { equations, violations, violated, records_checked, set_aside_in_clear, contents_without_row } = result;
  return (
    <>
      {equations.map((equation) => (
        <p key={equation} class="group-line">
          {inWords(equation)}
        </p>
      ))}
      <p class="group-line soft">
        <Dotted
          of={[
            t('Records checked of {n}', { n: plural(records_checked, 'notification') }),
            contents_without_row > 0 &&
              t('{n} contents of requests that were cut off', { n: count(contents_without_row) }),
            set_aside_in_clear > 0 && t('{n} malformed, left to their writers', { n: count(set_aside_in_clear) }),
          ]}
        />
      </p>
      {violated > 0 && (
        <>
          <p class="group-line note tone-bad">
            {plural(violated, 'violation')}
            {violations.length < violated && t(', of which {n} are named', { n: count(violations.length) })}
          </p>
          <ul class="rows tight" aria-label={t('Violations')}>
            {violations.map(({ rule, says, log_id, email_id, channel }) => (
              <li key={[rule, says, log_id, email_id, channel].join()}>
                <span class="mono">{rule}</span> {whose(log_id, email_id, channel)}{' '}
                <span class="soft">{said(says)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** `3 accepted = 2 delivered + 1 dead`, each count with its name. */
const inWords = (equation: string): string =>
  equation.replace(/([\d,]+) ([^=+]+?)(?= [=+] |$)/g, (_, n, what) => t('{n} {what}', { n, what: said(what) }));

function whose(log_id?: string, email_id?: string, channel?: string) {
  const [path, id] = log_id === undefined ? ['/newsletters/emails/', email_id] : ['/notifications/', log_id];
  if (id === undefined) return channel;
  return (
    <a class="mono" href={path + encodeURIComponent(id)}>
      {id}
    </a>
  );
}
