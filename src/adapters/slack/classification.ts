import { type ClassificationRule, codes } from '../../core/delivery/policy/classification.ts';
import { NETWORK_RULES } from '../http/network-classification.ts';

/**
 * Answers of chat.postMessage (HTTP 200, `{"ok":false,"error":code}`) and of incoming webhooks (a status, the code as
 * text). Sources: the documentation of the method, its list of common errors, and the changelog on incoming webhooks
 * (2016-05-17). An error that is not listed is UNKNOWN, and so the notification is retried.
 */
export const SLACK_RULES: readonly ClassificationRule[] = [
  ...NETWORK_RULES,
  {
    code: codes('ratelimited rate_limited message_limit_exceeded accesslimited'),
    means: 'RATE_LIMITED',
    because: 'The limit is about one message per second and channel. Slack spells the code both ways.',
  },
  { status: 429, means: 'RATE_LIMITED', because: 'Slack reports a rate limit as 429 with Retry-After in seconds.' },
  {
    code: ['token_expired'],
    means: 'AUTH_TEMPORARY',
    because: 'Rotated tokens live twelve hours. The secret has a newer one.',
  },
  {
    code: ['request_timeout'],
    means: 'NETWORK_TIMEOUT',
    because: 'The body reached Slack truncated: a retry helps.',
  },
  {
    code: codes('service_unavailable rollup_error team_added_to_org org_login_required'),
    means: 'SERVER_OVERLOAD',
    because: 'Slack, or the workspace during its migration, is unavailable for a while.',
  },
  {
    code: codes('internal_error fatal_error timeout'),
    means: 'SERVER_OVERLOAD',
    because: 'A fault at Slack. The message may have been posted. A duplicate is a smaller harm than a lost message.',
  },
  {
    code: codes('channel_not_found not_in_channel is_archived channel_is_archived user_not_found user_disabled'),
    means: 'INVALID_RECIPIENT',
    because: 'The channel or person does not exist or was removed, or the app is not in the channel.',
  },
  {
    code: codes('cannot_dm_bot cannot_reply_to_message messages_tab_disabled is_inactive channel_type_not_supported'),
    means: 'INVALID_RECIPIENT',
    because: 'This conversation accepts no messages from an app.',
  },
  {
    code: codes('no_service no_service_id no_team team_disabled team_not_found'),
    means: 'INVALID_RECIPIENT',
    because: 'The incoming webhook, or its whole workspace, was removed or disabled: batch-952 §6, wrong destination.',
  },
  {
    code: codes(
      `msg_too_long no_text missing_text_or_fallback_or_attachments too_many_attachments msg_blocks_too_long`,
    ),
    means: 'FORMAT_ERROR',
    because: 'The message is empty or too long.',
  },
  {
    code: codes('invalid_blocks invalid_blocks_format invalid_attachments markdown_text_conflict metadata_too_large'),
    means: 'FORMAT_ERROR',
    because: 'Slack cannot read the message as it is built.',
  },
  {
    code: codes(`invalid_arguments invalid_arg_name invalid_array_arg invalid_charset invalid_form_data invalid_json
      invalid_payload invalid_post_type json_not_object missing_post_type`),
    means: 'FORMAT_ERROR',
    because: 'The request is malformed, and would be malformed again.',
  },
  {
    code: codes(`invalid_auth not_authed account_inactive token_revoked invalid_token not_allowed_token_type
      two_factor_setup_required method_deprecated deprecated_endpoint as_user_not_supported`),
    means: 'AUTH_FAILED',
    because: 'The token or webhook is invalid or of the wrong kind: the settings must be corrected.',
  },
  {
    code: codes(`missing_scope restricted_action restricted_action_read_only_channel
      restricted_action_thread_only_channel restricted_action_non_threadable_channel restricted_action_thread_locked`),
    means: 'PERMISSION_DENIED',
    because: 'A scope is missing, or a setting of the workspace forbids the app to post here.',
  },
  {
    code: codes(`ekm_access_denied access_denied action_prohibited posting_to_general_channel_denied no_permission
      not_allowed enterprise_is_restricted team_access_not_granted`),
    means: 'PERMISSION_DENIED',
    because: "The workspace's administrators must allow it.",
  },
  {
    status: [300, 399],
    means: 'INVALID_RECIPIENT',
    because: 'Redirects are not followed; Slack itself never sends one.',
  },
  { status: 400, means: 'FORMAT_ERROR', because: 'Changelog 2016-05-17: 400 is an invalid payload.' },
  { status: 401, means: 'AUTH_FAILED', because: 'The token is not accepted.' },
  { status: 403, means: 'PERMISSION_DENIED', because: 'Changelog 2016-05-17: 403 is a restriction of the workspace.' },
  {
    status: [404, 404],
    means: 'INVALID_RECIPIENT',
    because: 'Changelog 2016-05-17: there is no such channel or webhook.',
  },
  { status: 410, means: 'INVALID_RECIPIENT', because: 'Changelog 2016-05-17: the channel is archived.' },
  { status: 413, means: 'FORMAT_ERROR', because: 'The message is larger than Slack accepts.' },
  { status: [400, 499], means: 'INVALID_RECIPIENT', because: 'batch-952 §6: any other 4xx is a wrong destination.' },
  { status: [500, 599], means: 'SERVER_OVERLOAD', because: 'batch-952 §6: 5xx is retried at longer intervals.' },
];
