/** Words by which files and columns say that somebody must get no mail. */
const OPT_OUT =
  /unsub|opt(?:ed)?[-_ ]?out|clean|bounce|bl(?:ack|ock)[-_ ]?list|suppress|disabled|inactive|cancell?ed|complain|spam|invalid|no(?:n|t)?[-_ ]?subscribed|do[-_ ]?not|\bdnc\b|(?<![a-z])stop(?![a-z])|abgemeldet|abmeldung|d[ée]sabonn|d[ée]sinscri|de baja|停止|解除|退会|拒否|不可|不要|希望しない/i;
/** Columns that say yes or no of each person. */
const MAYBE =
  /status|state|subscri|consent|accept|permission|opt(?:ed)?[-_ ]?in|allow|可否|希望|購読|配信|メルマガ|受信/i;

const LEFT =
  /^(?:unsub\w*|opt(?:ed)?[-_ ]?out|(?:hard |soft )?bounced?|cleaned|bl(?:ack|ock)[-_ ]?list(?:ed)?|suppressed|inactive|cancell?ed|no(?:n|t)?[-_ ]?subscribed|do[-_ ]?not[-_ ]?\w+|dnc|配信停止|停止|退会|受信拒否)$/i;

export const HOW_TO_SAY_IT =
  'who has unsubscribed is written in the column unsubscribed (true, or newsletter@time), who may never get mail in the ' +
  'column suppressed (bounced, complained or operator); --as unsubscribed and --as suppressed say it of a whole file';

/** Whether the name of a file or a column says that its people must get no mail. */
export const saysOptOut = (name: string): boolean => OPT_OUT.test(name);

/** The same of a cell or a label, which says nothing else: it may name anything. */
export const saysLeft = (value: string): boolean => LEFT.test(value);

/** Whether a column may say who must get no mail: to leave it away would send to these people. */
export const isOptOutColumn = (column: string): boolean => saysOptOut(column) || MAYBE.test(column);
