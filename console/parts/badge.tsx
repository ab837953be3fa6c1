export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'none';

/** A state of a catalogue. */
export interface Word {
  readonly name: string;
  readonly tone: Tone;
  readonly meaning?: string;
}

/** A state in words with a dot; the colour repeats what the word says. */
export function Badge({
  tone,
  children,
  title,
}: {
  readonly tone: Tone;
  readonly children: string;
  title?: string | undefined;
}) {
  return (
    <span class={`badge tone-${tone}`} title={title}>
      <span class="dot" aria-hidden="true" />
      {children}
    </span>
  );
}

/** A state of a catalogue, with what it means on hover. */
export function WordBadge({ word: { name, tone, meaning } }: { readonly word: Word }) {
  return (
    <Badge tone={tone} title={meaning}>
      {name}
    </Badge>
  );
}
