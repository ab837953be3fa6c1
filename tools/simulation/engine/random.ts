import { fnv1a } from '../../../src/core/model/work-index.ts';

export type Draw = () => number;

/** Repeatable draws, 0 to below 1 (sfc32). Each name has its own sequence, so one more draw somewhere changes no other. */
export function createRandom(seed: number, name: string): Draw {
  let [a, b, c, counter] = [fnv1a(name), fnv1a(`${seed} ${name}`), seed | 0, 1];
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 12; i++) next();
  return next;
}

export const between = (draw: Draw, least: number, most: number): number => least + draw() * (most - least);
