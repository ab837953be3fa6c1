import type { ComponentChildren } from 'preact';
import type { Tone } from './badge.tsx';
import { count } from './time.tsx';

interface FigureProps {
  readonly label: string;
  readonly value: number;
  readonly hint: ComponentChildren;
  /** Colours the figure when it is not zero. */
  readonly tone?: Tone;
  readonly href: string;
}

export function Figure({ label, value, hint, tone = 'none', href }: FigureProps) {
  return (
    <a class={`figure ${value > 0 ? `tone-${tone}` : 'tone-none'}`} href={href}>
      <span class="figure-label">{label}</span>
      <span class="figure-value">{count(value)}</span>
      <span class="figure-hint">{hint}</span>
    </a>
  );
}
