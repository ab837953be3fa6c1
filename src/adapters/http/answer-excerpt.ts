const MAX_EXCERPT = 300;
/** Of what the provider echoes, a run of this many characters of ours is recognised. */
const RUN = 8;
const MASK = '…';
const ADDRESS_LIKE = /[^\s"'<>(),;:]+@[^\s"'<>(),;:]+|https?:\/\/[^\s"'<>]+|xox[a-z]-[\w-]+|whsec_[\w+/=]+/gi;

/**
 * The start of a provider's answer for the retry record, at most 300 characters. Providers like to echo what they
 * refuse: addresses, URLs and tokens are masked, and so is every run of eight or more characters that occurs in
 * `ours` (recipient, subject, body, credential), as it is or JSON-escaped (design §7.9).
 */
export function answerExcerpt(text: string, ours: readonly (string | undefined)[]): string {
  const start = text.slice(0, 2 * MAX_EXCERPT).replace(ADDRESS_LIKE, MASK);
  const haystacks = ours.flatMap((own) => (own ? [own.slice(0, 32 * 1024)] : []));
  const known = [...haystacks, ...haystacks.map((own) => JSON.stringify(own))];
  const short = haystacks.filter((own) => own.length < RUN && own.length > 2);
  const masked = maskRuns(start, known);
  return short.reduce((left, own) => left.replaceAll(own, MASK), masked).slice(0, MAX_EXCERPT);
}

function maskRuns(text: string, known: readonly string[]): string {
  let out = '';
  let at = 0;
  while (at < text.length) {
    let end = at + RUN;
    if (end <= text.length && occurs(text.slice(at, end), known)) {
      while (end < text.length && occurs(text.slice(end - RUN + 1, end + 1), known)) end += 1;
      out += MASK;
      at = end;
    } else {
      out += text[at];
      at += 1;
    }
  }
  return out;
}

function occurs(run: string, known: readonly string[]): boolean {
  return run.trim() !== '' && known.some((own) => own.includes(run));
}
