import { createPoster, type HttpAnswer, type PosterOptions } from '../http/post.ts';

const SLACK_API_URL = 'https://slack.com/api/';

/** Slack repeats the message twice in its answer, with up to six bytes per character; a message may have 40,000. */
const MAX_SLACK_ANSWER_BYTES = 2 * 1024 * 1024;

export interface SlackApiOptions extends Omit<PosterOptions, 'lookup'> {
  /** Base URL of the Web API; Slack's own unless given. */
  readonly slackApiUrl?: string;
}

interface SlackPost {
  readonly token: string;
  readonly channel: string;
  readonly text: string;
  readonly mrkdwn: boolean;
}

/** Slack's answer to chat.postMessage. */
interface SlackAnswer {
  readonly ok: boolean;
  readonly http: HttpAnswer;
  /** The id of the accepted message in its channel. */
  readonly ts?: string | undefined;
  readonly error?: string | undefined;
  /** The scope that the app lacks, if that is the error. */
  readonly needed?: string | undefined;
}

/** The one method of Slack's Web API that is needed. */
export interface SlackApi {
  /**
   * Calls chat.postMessage once.
   * @throws NetworkFault when no answer came.
   */
  postMessage(post: SlackPost, signal: AbortSignal): Promise<SlackAnswer>;
  /** Closes idle connections. */
  close(): void;
}

export function createSlackApi({ slackApiUrl = SLACK_API_URL, ...http }: SlackApiOptions = {}): SlackApi {
  const poster = createPoster({ maxAnswerBytes: MAX_SLACK_ANSWER_BYTES, ...http });
  const url = new URL('chat.postMessage', slackApiUrl.endsWith('/') ? slackApiUrl : `${slackApiUrl}/`);
  return {
    async postMessage({ token, channel, text, mrkdwn }, signal) {
      const headers = {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        'content-type': 'application/x-www-form-urlencoded',
        'user-agent': 'notification-retry/1',
      };
      const body = new URLSearchParams({ channel, text, mrkdwn: String(mrkdwn) }).toString();
      return readAnswer(await poster.post({ url, headers, body, signal }));
    },
    close: poster.close,
  };
}

/**
 * An acceptance is `{"ok":true,"ts":"1503435956.000247"}`, a refusal `{"ok":false,"error":"missing_scope",
 * "needed":"chat:write"}`.
 */
function readAnswer(http: HttpAnswer): SlackAnswer {
  const { ok, ts, error, needed } = parsed(http.text);
  return {
    ok: http.status === 200 && ok === true,
    http,
    ts: typeof ts === 'string' ? ts : undefined,
    error: word(error, /^\w{1,80}$/),
    needed: word(needed, /^[\w:.,]{1,80}$/),
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    // An acceptance whose end was cut off is still an acceptance: a second post would make a duplicate.
    return { ok: /^\s*\{\s*"ok"\s*:\s*true\b/.test(text) };
  }
}

/** Returns a value only if it has the form of Slack's codes, because other text may quote the message. */
function word(value: unknown, form: RegExp): string | undefined {
  return typeof value === 'string' && form.test(value) ? value : undefined;
}
