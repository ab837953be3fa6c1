import { type ClassificationRule, codes } from '../../core/delivery/policy/classification.ts';
import { NETWORK_RULES } from '../http/network-classification.ts';

/** A connector that could not post answers 200 with one of these, or both (microsoftdocs/msteams-docs#1810, #4145). */
export const CONNECTOR_FAILURE = /Webhook message delivery failed|Microsoft Teams endpoint returned HTTP error/i;

const reported = (status: string) => new RegExp(`returned HTTP error ${status}\\b`, 'i');

/** Answers of Teams webhooks: Workflows (Power Automate's `{"error":{"code"}}`) and connectors (text in a 200). */
export const TEAMS_RULES: readonly ClassificationRule[] = [
  ...NETWORK_RULES,
  {
    status: 200,
    text: reported('429'),
    means: 'RATE_LIMITED',
    because: 'Teams documentation: more than 4 requests per second are throttled.',
  },
  {
    status: 200,
    text: reported('413'),
    means: 'FORMAT_ERROR',
    because: 'Teams documentation: the message is above 28 KB.',
  },
  { status: 200, text: reported('400'), means: 'FORMAT_ERROR', because: 'Teams could not read the card.' },
  { status: 200, text: reported('401'), means: 'AUTH_FAILED', because: 'Teams does not know the connector any more.' },
  {
    status: 200,
    text: reported('403'),
    means: 'PERMISSION_DENIED',
    because: 'The team no longer allows the connector to post.',
  },
  {
    status: 200,
    text: reported('(404|410)'),
    means: 'INVALID_RECIPIENT',
    because: 'The channel or its connector was removed.',
  },
  {
    status: 200,
    text: reported('(408|425)'),
    means: 'NETWORK_TIMEOUT',
    because: 'RFC 9110 §15.5.9, RFC 8470 §5.2: what the connector sent did not arrive in time, or too early.',
  },
  {
    status: 200,
    text: reported('4\\d\\d'),
    means: 'INVALID_RECIPIENT',
    because: 'batch-952 §6: any other 4xx is a wrong destination.',
  },
  { status: 200, text: reported('5\\d\\d'), means: 'SERVER_OVERLOAD', because: 'Teams behind the connector failed.' },
  {
    status: 200,
    text: CONNECTOR_FAILURE,
    means: 'UNKNOWN',
    because: 'The connector could not reach Teams and gave no status.',
  },
  {
    code: codes('WorkflowTriggerIsNotEnabled WorkflowDisabled WorkflowSuspended WorkflowNotEnabled'),
    means: 'AUTH_FAILED',
    because: 'The flow is switched off. Once an owner switches it on, a redrive delivers.',
  },
  {
    code: codes('WorkflowNotFound WorkflowTriggerNotFound ResourceNotFound EnvironmentNotFound'),
    means: 'INVALID_RECIPIENT',
    because: 'The flow behind this URL was deleted.',
  },
  {
    code: codes(`DirectApiAuthorizationRequired DirectApiInvalidAuthorizationScheme
      DirectApiRequestHasMoreThanOneAuthorization InvalidAuthenticationToken AuthorizationFailed`),
    means: 'AUTH_FAILED',
    because: "The URL's signature (sig) is missing or outdated, or the flow needs a sign-in: copy the URL again.",
  },
  {
    code: codes('TriggerInputSchemaMismatch InvalidRequestContent TriggerRequestMethodNotValid'),
    means: 'FORMAT_ERROR',
    because: 'The flow does not accept this message: its trigger expects another shape.',
  },
  {
    code: codes('WorkflowRunInProgress TriggerThrottled WorkflowThrottled TooManyRequests'),
    means: 'RATE_LIMITED',
    because: 'Power Automate limits the requests and runs of a flow.',
  },
  {
    status: [300, 399],
    means: 'INVALID_RECIPIENT',
    because: 'Redirects are not followed. The URL must be copied again.',
  },
  { status: 400, means: 'FORMAT_ERROR', because: 'The message is not what the webhook expects.' },
  { status: 401, means: 'AUTH_FAILED', because: "The URL's signature is not accepted." },
  { status: 403, means: 'PERMISSION_DENIED', because: 'The flow, or a policy of the tenant, forbids the call.' },
  { status: 404, means: 'INVALID_RECIPIENT', because: 'There is no such webhook.' },
  { status: 410, means: 'INVALID_RECIPIENT', because: 'The connector was retired or removed.' },
  { status: 413, means: 'FORMAT_ERROR', because: 'The message is above the size limit.' },
  { status: 415, means: 'FORMAT_ERROR', because: 'The webhook does not accept this content type.' },
  { status: 429, means: 'RATE_LIMITED', because: 'Teams and Power Automate throttle with 429.' },
  { status: [400, 499], means: 'INVALID_RECIPIENT', because: 'batch-952 §6: any other 4xx is a wrong destination.' },
  {
    status: [500, 599],
    means: 'SERVER_OVERLOAD',
    because: 'batch-952 §6. A flow that fails or takes too long also answers 502 (NoResponse) or 504.',
  },
];
