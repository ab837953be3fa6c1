/** Draws from [0, 1), like Math.random. */
export type Random = () => number;
