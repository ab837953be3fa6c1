import { EMAIL_RULES } from '../../../src/adapters/email/classification.ts';
import type { AnswerFacts } from '../../../src/core/delivery/policy/classification.ts';
import { classificationSuite } from '../../support/classification-suite.ts';

const ses = (code: string, text = '', status = 400): AnswerFacts => ({ status, code, text });

const expected: [AnswerFacts, string][] = [
  [ses('Throttling', 'Daily message quota exceeded.'), 'RATE_LIMITED'],
  [ses('ThrottlingException', 'Maximum sending rate exceeded.'), 'RATE_LIMITED'],
  [ses('Throttling', 'Rate exceeded'), 'RATE_LIMITED'],
  [ses('LimitExceededException'), 'RATE_LIMITED'],
  [ses('AccountSendingPausedException'), 'RATE_LIMITED'],
  [ses('ConfigurationSetSendingPausedException'), 'RATE_LIMITED'],
  [ses('MessageRejected', 'Sending paused for this account.'), 'RATE_LIMITED'],
  [ses('MessageRejected', 'Sending suspended for this account.'), 'PERMISSION_DENIED'],
  [ses('ExpiredToken', '', 403), 'AUTH_TEMPORARY'],
  [ses('SignatureDoesNotMatch', 'Signature expired: 20260301T093000Z is now earlier than …', 403), 'AUTH_TEMPORARY'],
  [{ code: 'CredentialsProviderError' }, 'AUTH_TEMPORARY'],
  [ses('InvalidClientTokenId', '', 403), 'AUTH_FAILED'],
  [ses('AccessDeniedException', '', 403), 'PERMISSION_DENIED'],
  [ses('MailFromDomainNotVerifiedException'), 'AUTH_FAILED'],
  [ses('MessageRejected', 'Email address is not verified.'), 'AUTH_FAILED'],
  [ses('ConfigurationSetDoesNotExistException'), 'AUTH_FAILED'],
  [ses('TemplateDoesNotExistException'), 'AUTH_FAILED'],
  [ses('MessageRejected', 'Address is on the suppression list'), 'INVALID_RECIPIENT'],
  [ses('InvalidParameterValue', 'Domain contains illegal character'), 'AUTH_FAILED'],
  [ses('InvalidParameterValue', 'Local address contains control or whitespace'), 'AUTH_FAILED'],
  [ses('MessageRejected', 'virus'), 'FORMAT_ERROR'],
  [ses('InvalidParameterValue', 'Message length is more than 10485760 bytes long'), 'FORMAT_ERROR'],
  [ses('InvalidAction'), 'AUTH_FAILED'],
  [{ code: 'AbortError' }, 'NETWORK_TIMEOUT'],
  [{ code: 'ECONNREFUSED' }, 'NETWORK_TIMEOUT'],
  [ses('ServiceUnavailable', '', 503), 'SERVER_OVERLOAD'],
  [ses('Unheard', '', 500), 'SERVER_OVERLOAD'],
  [ses('Unheard', '', 429), 'RATE_LIMITED'],
  [ses('Unheard', '', 403), 'PERMISSION_DENIED'],
  [ses('Unheard', '', 413), 'FORMAT_ERROR'],
  [ses('Unheard'), 'UNKNOWN'],
];

classificationSuite('an answer of SES', EMAIL_RULES, expected);
