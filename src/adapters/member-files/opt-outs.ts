/** Words by which files and columns say that somebody must get no mail. */
const OPT_OUT =
  /unsub|opt[-_ ]?out|clean|bounce|bl(?:ack|ock)[-_ ]?list|suppress|disabled|inactive|cancell?ed|complain|non-?subscribed|停止|解除|退会/i;
const MAYBE = /status|state/i;

export const HOW_TO_SAY_IT =
  'who has unsubscribed is written in the column unsubscribed (true, or newsletter@time), who may never get mail in the ' +
  'column suppressed (bounced, complained or operator); --as unsubscribed and --as suppressed say it of a whole file';

/** Whether a file's name says that its people must get no mail. */
export const saysOptOut = (file_name: string): boolean => OPT_OUT.test(file_name);

/** Unknown columns that may say who must get no mail: to leave them away would send to these people. */
export const optOutColumns = (columns: readonly string[]): readonly string[] =>
  columns.filter((column) => OPT_OUT.test(column) || MAYBE.test(column));
