import { type ComponentChildren, Fragment } from 'preact';
import { useId } from 'preact/hooks';
import { hrefOf } from '../navigation/router.ts';

interface ScreenProps {
  readonly title: ComponentChildren;
  readonly lead?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The head of a screen: one heading, one sentence, and what can be done here. */
export function ScreenFrame({ title, lead, actions, children }: ScreenProps) {
  return (
    <div class="screen">
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

/** A part of a screen with a heading of its own. */
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
