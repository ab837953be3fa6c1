/** Contrast of text and what it stands on (WCAG 1.4.3). */
const LEAST_CONTRAST = 4.5;

const channels = (color: string): readonly number[] =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

/** Relative luminance, as WCAG defines it. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** The color, with as much black or white in it as lets text of it be read. @param color and ground `#rrggbb` */
export function readableOn(ground: string, color: string): string {
  const end = contrast('#000000', ground) > contrast('#ffffff', ground) ? 0 : 255;
  const mixed = (share: number) =>
    `#${channels(color)
      .map((value) => Math.round(value + (end - value) * share))
      .map((value) => value.toString(16).padStart(2, '0'))
      .join('')}`;
  const shares = Array.from({ length: 21 }, (_, i) => i / 20);
  return shares.map(mixed).find((one) => contrast(one, ground) >= LEAST_CONTRAST) ?? mixed(1);
}

/** Black or white: one of them can be read on every color. */
export const textOn = (ground: string): string =>
  contrast('#ffffff', ground) >= LEAST_CONTRAST ? '#ffffff' : '#000000';
