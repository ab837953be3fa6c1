import { useContext, useEffect, useState } from 'preact/hooks';
import type { ProblemBody } from '../../src/application/contract/fields.ts';
import { problemOf } from '../data/api.ts';
import { newRequestId } from '../data/decision.ts';
import { opsCommand, SessionContext } from '../data/session.ts';
import { said, t } from '../language/language.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { Shell } from './shell-command.tsx';

interface Toast {
  readonly id: number;
  readonly kind: 'done' | 'failed';
  readonly text: string;
  /** What does it, or shows more, in the shell. */
  readonly command?: string | undefined;
}

/** Long enough to read; a failure stays until it is closed. */
const SHOWN_MS = 6_000;
const listeners = new Set<(toast: Toast) => void>();
let last = 0;

export function showToast(kind: Toast['kind'], text: string, command?: string): void {
  last += 1;
  for (const listener of listeners) listener({ id: last, kind, text, command });
}

/** A refusal where no dialog is open that could show it. */
export function showProblem({ detail, remedy, command = '' }: ProblemBody): void {
  showToast('failed', `${said(detail)} ${said(remedy)}`, command);
}

/** Acts at a click, where no dialog asks before, and says what came of it. */
export function useAct(onDone: () => void) {
  const [busy, setBusy] = useState(false);
  const act = async (change: (request_id: string) => Promise<unknown>, done?: string) => {
    setBusy(true);
    try {
      await change(newRequestId());
      if (done !== undefined) showToast('done', done);
    } catch (error) {
      showProblem(problemOf(error));
    }
    setBusy(false);
    onDone();
  };
  return [busy, act] as const;
}

/** Two live regions that always exist, because a screen reader announces only what is put into one that it knows. */
export function Toasts() {
  const session = useContext(SessionContext);
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const close = (id: number) => setToasts((shown) => shown.filter((toast) => toast.id !== id));
  useEffect(() => {
    const add = (toast: Toast) => {
      setToasts((shown) => [...shown.slice(-3), toast]);
      if (toast.kind === 'done') setTimeout(close, SHOWN_MS, toast.id);
    };
    listeners.add(add);
    return () => {
      listeners.delete(add);
    };
  }, []);
  const ofKind = (kind: Toast['kind']) =>
    toasts
      .filter((toast) => toast.kind === kind)
      .map(({ id, text, command }) => (
        <div key={id} class={`toast toast-${kind}`}>
          <Icon name={kind === 'done' ? 'check' : 'alert'} />
          <div class="toast-text rows">
            <p>{text}</p>
            {command !== undefined && (
              <Shell label={t('In the shell')} command={command || opsCommand('status', session)} />
            )}
          </div>
          <Button name={t('Close the message')} icon="close" bare onClick={() => close(id)} />
        </div>
      ));
  return (
    <div class="toasts">
      <div role="status" aria-live="polite">
        {ofKind('done')}
      </div>
      <div role="alert" aria-live="assertive">
        {ofKind('failed')}
      </div>
    </div>
  );
}
