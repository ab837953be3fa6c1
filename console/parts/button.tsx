import { t } from '../language/language.ts';
import { Icon, type IconName } from './icon.tsx';

interface ButtonProps {
  readonly name: string;
  /** Shows the icon alone. */
  readonly bare?: boolean;
  /** What only a screen reader needs to tell it from others of its name. */
  readonly more?: string | undefined;
  readonly icon?: IconName;
  readonly kind?: 'plain' | 'primary' | 'link' | 'filter';
  readonly disabled?: boolean;
  /** Where it is not the page's. */
  readonly lang?: string;
  readonly title?: string | undefined;
  readonly onClick: () => void;
}

const CLASSES = { plain: 'button', primary: 'button primary', link: 'link-button', filter: 'filter-button' } as const;

export function Button({ name, more, icon, bare = false, kind = 'plain', ...props }: ButtonProps) {
  return (
    <button
      type="button"
      class={bare ? 'icon-button' : CLASSES[kind]}
      {...(bare && { 'aria-label': name, title: name })}
      {...props}
    >
      {icon !== undefined && icon !== 'right' && <Icon name={icon} />}
      {!bare && name}
      {icon === 'right' && <Icon name={icon} />}
      {more !== undefined && <span class="visually-hidden"> {more}</span>}
    </button>
  );
}

export const VIEWERS = t('Your role is viewer: only operators change anything.');

/** Why the button beside it is disabled. */
export function Why({ children }: { readonly children: string }) {
  return <span class="faint small">{children}</span>;
}
