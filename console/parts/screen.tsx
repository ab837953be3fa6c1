import type { ComponentChildren } from 'preact';

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
        <div class="screen-words">
          <h1>{title}</h1>
          {lead !== undefined && <p class="soft">{lead}</p>}
        </div>
        {actions !== undefined && <div class="screen-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}
