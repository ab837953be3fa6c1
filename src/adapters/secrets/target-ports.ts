import * as v from 'valibot';

/** Ports to which an integration may post beside 443 and those of the stage. */
export const targetPorts = v.optional(
  v.array(v.pipe(v.number(), v.integer('must be a whole number'), v.minValue(1), v.maxValue(65_535))),
);
