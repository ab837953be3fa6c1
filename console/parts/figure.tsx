import type { ComponentChildren } from 'preact';
import type { Tone } from './badge.tsx';
import { about, count } from './time.tsx';

interface FigureProps {
  readonly label: string;
  readonly value: number;
  /** The value is near the real one, not equal to it. */
  readonly estimated?: boolean;
  readonly hint: ComponentChildren;
  /** Colours the figure when it is not zero. */
  readonly tone?: Tone;
  readonly href: string;
}

export function Figure({ label, value, hint, estimated = false, tone = 'none', href }: FigureProps) {
  return (
    <a class={`figure ${value > 0 ? `tone-${tone}` : 'tone-none'}`} href={href}>
      <span class="figure-label">{label}</span>
      <span class="figure-value">{estimated ? about(value) : count(value)}</span>
      <span class="figure-hint">{hint}</span>
    </a>
  );
}
