import { createPoster, type HttpAnswer, type PosterOptions } from './post.ts';
import { createTargetGuard, type TargetGuardOptions } from './target-guard.ts';

export type TargetPosterOptions = TargetGuardOptions & Omit<PosterOptions, 'lookup'>;

/** Posts to URLs that tenants choose: there is no way through it past the guard. */
export interface TargetPoster {
  /**
   * @throws TargetRefusedError when the URL's form or host is refused, NetworkFault (code TARGET_REFUSED) when its
   * name leads to a private address, NetworkFault otherwise when no answer came.
   */
  post(target: string, message: TargetMessage, signal: AbortSignal): Promise<HttpAnswer>;
  /** Closes idle connections. */
  close(): void;
}

interface TargetMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function createTargetPoster(options: TargetPosterOptions = {}): TargetPoster {
  const guard = createTargetGuard(options);
  const poster = createPoster({ ...options, lookup: guard.lookup });
  return {
    post: async (target, message, signal) => poster.post({ url: guard.check(target), ...message, signal }),
    close: poster.close,
  };
}
