import { createPoster, type HttpAnswer, type PosterOptions } from './post.ts';
import { createTargetGuard, type TargetGuardOptions } from './target-guard.ts';

export type TargetPosterOptions = TargetGuardOptions & Omit<PosterOptions, 'lookup'>;

/** Posts to URLs that tenants choose. Every post passes the guard. */
export interface TargetPoster {
  /**
   * @throws TargetRefusedError when the form or host of the URL is refused; NetworkFault with code TARGET_REFUSED
   *   when its name leads to a private address; NetworkFault with another code when no answer came
   */
  post(target: string, message: TargetMessage, signal: AbortSignal): Promise<HttpAnswer>;
  /** Closes idle connections. */
  close(): void;
}

interface TargetMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Ports that the integration allows. */
  readonly ports?: readonly number[] | undefined;
}

export function createTargetPoster(options: TargetPosterOptions = {}): TargetPoster {
  const guard = createTargetGuard(options);
  const poster = createPoster({ ...options, lookup: guard.lookup });
  return {
    post: async (target, { ports, ...message }, signal) =>
      poster.post({ url: guard.check(target, ports), ...message, signal }),
    close: poster.close,
  };
}
