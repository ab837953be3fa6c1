/** What a token is for: the body of `POST /v1/tokens`, which the producer's own server sends for its page. */
export type TokenRequest = { readonly send: true } | { readonly log_ids: readonly string[] };

/** Asks the producer's server for a token. It is called again when a token has expired. */
export type GetToken = (request: TokenRequest) => Promise<string>;

/** What one request of a page needs. */
export type Purpose = 'send' | { readonly log_id: string };

export interface Tokens {
  /** The token that is known for the purpose, or a new one. Rejects as `getToken` does, or when it takes too long. */
  get(purpose: Purpose): Promise<string>;
  /** A token in place of one that the API did not take; one request for all that wait for it. */
  renew(purpose: Purpose, refused: string): Promise<string>;
}

/** The most log_ids of one token: the limit of the API. */
const MOST_LOG_IDS = 50;
const SEND = '';

/** Tokens by purpose. All log_ids that are asked for at about the same time, as by a list, share a token. */
export function createTokens(getToken: GetToken, timeoutMs: number): Tokens {
  const known = new Map<string, Promise<string>>();
  let asked: string[] = [];
  let asking: Promise<void> | undefined;

  function ask(request: TokenRequest, names: readonly string[]): Promise<string> {
    const token = inTime(getToken(request), timeoutMs);
    for (const name of names) known.set(name, token);
    // The next request asks again; whoever waits for this one gets its error.
    token.catch(() => drop(names, token));
    return token;
  }

  function drop(names: readonly string[], token: Promise<string>): void {
    for (const name of names) if (known.get(name) === token) known.delete(name);
  }

  async function forLogIds(log_id: string): Promise<string> {
    if (!asked.includes(log_id)) asked.push(log_id);
    asking ??= Promise.resolve().then(() => {
      const log_ids = asked;
      asked = [];
      asking = undefined;
      for (let i = 0; i < log_ids.length; i += MOST_LOG_IDS) {
        const some = log_ids.slice(i, i + MOST_LOG_IDS);
        ask({ log_ids: some }, some);
      }
    });
    await asking;
    return known.get(log_id) ?? forLogIds(log_id);
  }

  async function get(purpose: Purpose): Promise<string> {
    if (purpose === 'send') return known.get(SEND) ?? ask({ send: true }, [SEND]);
    return known.get(purpose.log_id) ?? forLogIds(purpose.log_id);
  }

  return {
    get,
    async renew(purpose, refused) {
      const name = purpose === 'send' ? SEND : purpose.log_id;
      const held = known.get(name);
      // Somebody else may have renewed it since.
      if (held !== undefined && (await held) === refused) drop([name], held);
      return get(purpose);
    },
  };
}

async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`getToken did not answer within ${ms} ms.`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
