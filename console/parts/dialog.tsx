import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import type { ProblemBody } from '../../src/application/contract/fields.ts';
import { useDecision } from '../data/decision.ts';
import { t } from '../language/language.ts';
import { Button, Why } from './button.tsx';
import { Ops, Shell } from './shell-command.tsx';
import { Problem } from './states.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** A click beside it does not close it: somebody writes in it. */
  readonly stays?: boolean;
  /** As wide as the window: it shows two things beside each other. */
  readonly wide?: boolean;
  /** The buttons; the last one is the one that acts. */
  readonly actions?: ComponentChildren;
}

/** The browser's own modal dialog: it keeps the focus inside, closes with Esc, and gives the focus back. */
export function Dialog({ title, onClose, children, stays = false, wide = false, actions }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class={wide ? 'is-wide' : undefined}
      aria-labelledby={heading}
      onClose={onClose}
      closedby={stays ? 'closerequest' : 'any'}
    >
      <div class="dialog">
        <header>
          <h2 id={heading}>{title}</h2>
          <Button name={t('Close')} icon="close" bare onClick={() => dialog.current?.close()} />
        </header>
        <div class="dialog-body">{children}</div>
        {actions !== undefined && <footer>{actions}</footer>}
      </div>
    </dialog>
  );
}

interface DecisionProps extends Omit<ConfirmProps, 'onAct'> {
  /** Done once, however often the button is clicked or the request repeated. */
  readonly run: (request_id: string) => Promise<void>;
}

export function Decision({ run, disabled = false, problem, ...dialog }: DecisionProps) {
  const { busy, problem: refused, decide } = useDecision(run);
  return (
    <Confirm
      {...dialog}
      onAct={() => decide()}
      disabled={busy || disabled || dialog.because !== undefined}
      problem={problem ?? refused}
    />
  );
}

interface FormDialogProps extends Omit<ConfirmProps, 'onAct' | 'disabled' | 'problem'> {
  /** Sends what the form says, once, however often the button is clicked. */
  readonly send: (request_id: string, form: FormData) => Promise<void>;
  readonly onInput?: (form: FormData) => void;
}

export function FormDialog({ send, onInput, children, ...dialog }: FormDialogProps) {
  const id = useId();
  const { busy, problem, decide } = useDecision(send);
  return (
    <Confirm {...dialog} onAct={id} disabled={busy} problem={problem}>
      <form
        id={id}
        class="rows"
        onSubmit={(event) => {
          event.preventDefault();
          void decide(new FormData(event.currentTarget));
        }}
        onInput={({ currentTarget }) => onInput?.(new FormData(currentTarget))}
      >
        {children}
      </form>
    </Confirm>
  );
}

interface ConfirmProps extends Omit<DialogProps, 'actions'> {
  /** What the button that acts says. */
  readonly act: string;
  /** What the button that changes nothing says; null: there is none. */
  readonly keep?: string | null;
  /** The form that the button sends; without one, what it does. */
  readonly onAct: string | (() => void);
  readonly danger?: boolean;
  readonly disabled?: boolean;
  /** Why it cannot be decided yet, beside the button, which is disabled then. */
  readonly because?: string | undefined;
  readonly problem?: ProblemBody | undefined;
  /** The line for the shell that does the same. */
  readonly command?: string | undefined;
  /** The same, without what this console's session needs. */
  readonly ops?: string | undefined;
}

/** Asks for one decision: what it does, how the shell does it, why it was refused, and two buttons. */
export function Confirm({ act, onAct, children, problem, command, ...props }: ConfirmProps) {
  const { keep = t('Leave it'), danger = false, because, disabled = because !== undefined, ops, ...dialog } = props;
  const sends = typeof onAct === 'string' ? { type: 'submit', form: onAct } : { type: 'button', onClick: onAct };
  return (
    <Dialog
      {...dialog}
      actions={
        <>
          {because !== undefined && <Why>{because}</Why>}
          {keep !== null && <Button name={keep} onClick={dialog.onClose} />}
          <button class={`button ${danger ? 'danger' : 'primary'}`} disabled={disabled} {...(sends as object)}>
            {act}
          </button>
        </>
      }
    >
      {children}
      {command !== undefined && <Shell label={t('The same in the shell')} command={command} />}
      {ops !== undefined && <Ops label={t('The same in the shell')} command={ops} />}
      {problem !== undefined && <Problem problem={problem} />}
    </Dialog>
  );
}
