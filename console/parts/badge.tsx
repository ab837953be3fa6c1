export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'none';

/** A state in words with a dot; the colour repeats what the word says. */
export function Badge({
  tone,
  children,
  title,
}: {
  readonly tone: Tone;
  readonly children: string;
  readonly title?: string;
}) {
  return (
    <span class={`badge tone-${tone}`} title={title}>
      <span class="dot" aria-hidden="true" />
      {children}
    </span>
  );
}
