import { type ComponentChildren, Fragment } from 'preact';
import { useId } from 'preact/hooks';
import { said, t } from '../language/language.ts';
import { hrefOf } from '../navigation/router.ts';
import type { Tone } from './badge.tsx';
import { Ops } from './shell-command.tsx';

interface ScreenProps {
  readonly title: ComponentChildren;
  readonly lead?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** A list, which takes the whole width; text is easier to read in less of it. */
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}

/** The head of a screen: one heading, one sentence, and what can be done here. */
export function ScreenFrame({ title, lead, actions, wide = false, children }: ScreenProps) {
  return (
    <div class={wide ? 'screen is-wide' : 'screen'}>
      <header class="screen-head">
        <div class="screen-words rows tight">
          <h1>{title}</h1>
          {lead !== undefined && <p class="soft">{lead}</p>}
        </div>
        {actions !== undefined && <div class="line">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface PanelProps {
  readonly title: ComponentChildren;
  /** What stands at the end of its head. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Panel({ title, aside, children }: PanelProps) {
  const heading = useId();
  return (
    <section class="panel" aria-labelledby={heading}>
      <header class="panel-head line apart">
        <h2 id={heading}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

interface GroupProps {
  /** Of its heading, for links. */
  readonly id: string;
  readonly title: ComponentChildren;
  readonly facts: ComponentChildren;
  readonly count?: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Something of a list that has more to say than a row: what it is, what can be done, and its lines. */
export function Group({ id, title, facts, count, actions, children }: GroupProps) {
  return (
    <section class="panel group rows" aria-labelledby={id}>
      <header class="group-head">
        {count !== undefined && (
          <div class="group-count" aria-hidden="true">
            {count}
          </div>
        )}
        <div class="group-what">
          <h2 id={id} class="line">
            {title}
          </h2>
          <p class="soft">{facts}</p>
        </div>
        <div class="group-actions line">{actions}</div>
      </header>
      {children}
    </section>
  );
}

export function GroupLine({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div class="group-line">
      <span class="group-label">{name}</span>
      {children}
    </div>
  );
}

interface RemedyProps {
  readonly title: ComponentChildren;
  readonly tone?: Tone;
  /** What a person does about it. */
  readonly todo?: string;
  /** The command that does it. */
  readonly ops?: string;
  readonly children?: ComponentChildren;
}

/** What is wrong with what the screen shows, and what to do. */
export function Remedy({ title, tone = 'bad', todo, ops, children }: RemedyProps) {
  const id = useId();
  return (
    <section class={`remedy rows tight tone-${tone}`} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
      {todo !== undefined && (
        <p>
          <strong>{t('What to do:')}</strong> {said(todo)}
        </p>
      )}
      {ops !== undefined && <Ops command={ops} />}
    </section>
  );
}

/** Facts in one line, with dots between those that there are. */
export function Dotted({ of }: { readonly of: readonly ComponentChildren[] }) {
  const facts = of.filter((fact) => fact !== undefined && fact !== null && fact !== false && fact !== '');
  return facts.map((fact, i) => (
    <Fragment key={i}>
      {i > 0 && ' · '}
      {fact}
    </Fragment>
  ));
}

interface LogIdsProps {
  readonly of: readonly string[];
  /** The list that the page knows, for the next one. */
  readonly within?: Readonly<Record<string, string | undefined>>;
  /** Opens beside what is shown, such as a dialog. */
  readonly beside?: boolean;
}

/** The ids of notifications, each the way to its page. */
export function LogIds({ of, within, beside = false }: LogIdsProps) {
  return of.map((log_id) => {
    const href = hrefOf(`/notifications/${encodeURIComponent(log_id)}`, within);
    return (
      <a key={log_id} class="mono" href={href} {...(beside && { target: '_blank', rel: 'noopener' })}>
        {log_id}
      </a>
    );
  });
}
