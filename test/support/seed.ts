import fc from 'fast-check';

const asked = process.env['FAULT_SEED'];

/**
 * Where properties and random histories begin. `npm test` asks the same cases every time, so that what fails was broken
 * by the change at hand; `FAULT_SEED=random` draws others, as the nightly workflow does, and a number repeats what a failure names.
 */
export const SEED = asked === 'random' ? Date.now() % 1_000_000_000 : Number(asked ?? 1);

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });
