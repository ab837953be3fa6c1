/**
 * Base of our errors: the message names what is wrong, where, and what would be right, so a command prints it as it is.
 * Any other error is a defect, or comes from a library.
 */
export abstract class ExplainedError extends Error {
  /** Of a command that ends with it: 1 it could not be carried out, 2 an argument or a setting is wrong. */
  readonly exitCode: number = 1;
}
