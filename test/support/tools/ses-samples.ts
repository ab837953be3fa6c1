/**
 * SES's events as EventBridge delivers them, after the examples of the SES developer guide ("Examples of event data that
 * Amazon SES publishes"), with the tags that our sender sets.
 */
const MAIL = {
  timestamp: '2026-03-01T10:30:00.000Z',
  source: 'noreply@your-domain.example',
  sourceArn: 'arn:aws:ses:us-east-1:123456789012:identity/your-domain.example',
  sendingAccountId: '123456789012',
  messageId: '0100018f3c2d-7e1f-000000',
  destination: ['recipient@example.com'],
  headersTruncated: false,
  headers: [{ name: 'Subject', value: 'Message sent using Amazon SES' }],
  commonHeaders: { from: ['noreply@your-domain.example'], subject: 'Message sent using Amazon SES' },
  tags: {
    'ses:operation': ['SendEmail'],
    'ses:configuration-set': ['notification-retry-dev'],
    'ses:source-ip': ['192.0.2.0'],
    'ses:from-domain': ['your-domain.example'],
    'ses:caller-identity': ['send-email'],
    log_id: ['NL-1'],
    attempt: ['3'],
  },
};

function bounce(...recipients: object[]): object {
  return {
    bounceType: 'Permanent',
    bounceSubType: 'General',
    bouncedRecipients: recipients,
    timestamp: '2026-03-01T10:30:02.000Z',
    feedbackId: '0100018f-feedback-000000',
    reportingMTA: 'dsn; mta.example.com',
  };
}

const REFUSED = {
  emailAddress: 'recipient@example.com',
  action: 'failed',
  status: '5.1.1',
  diagnosticCode: 'smtp; 550',
};

export const SES_SAMPLES = {
  delivery: sample('Email Delivered', {
    eventType: 'Delivery',
    delivery: {
      timestamp: '2026-03-01T10:30:02.000Z',
      processingTimeMillis: 11_893,
      recipients: ['recipient@example.com'],
      smtpResponse: '250 2.6.0 Message received',
      reportingMTA: 'mta.example.com',
    },
  }),
  open: sample('Email Opened', {
    eventType: 'Open',
    open: { ipAddress: '192.0.2.1', timestamp: '2026-03-01T10:35:00.000Z', userAgent: 'Mozilla/5.0' },
  }),
  complaint: sample('Email Complaint Received', {
    eventType: 'Complaint',
    complaint: {
      complainedRecipients: [{ emailAddress: 'recipient@example.com' }],
      timestamp: '2026-03-01T10:40:00.000Z',
      feedbackId: '0100018f-feedback-000000',
      complaintSubType: null,
      complaintFeedbackType: 'abuse',
      arrivalDate: '2026-03-01T10:40:00.000Z',
    },
  }),
  bounceWithStatus: sample('Email Bounced', { eventType: 'Bounce', bounce: bounce(REFUSED) }),
  bounceWithoutStatus: sample('Email Bounced', {
    eventType: 'Bounce',
    bounce: bounce({ emailAddress: 'recipient@example.com' }),
  }),
  reject: sample('Email Rejected', { eventType: 'Reject', reject: { reason: 'Bad content' } }),
  renderingFailure: sample('Email Rendering Failed', {
    eventType: 'Rendering Failure',
    failure: { errorMessage: "Attribute 'name' is not present", templateName: 'MyTemplate' },
  }),
  send: sample('Email Sent', { eventType: 'Send', send: {} }),
  click: sample('Email Clicked', {
    eventType: 'Click',
    click: { ipAddress: '192.0.2.1', link: 'http://docs.example.com', timestamp: '2026-03-01T10:36:00.000Z' },
  }),
  deliveryDelay: sample('Email Delivery Delayed', {
    eventType: 'DeliveryDelay',
    deliveryDelay: { timestamp: '2026-03-01T10:30:09.000Z', delayType: 'TransientCommunicationFailure' },
  }),
} as const;

function sample<Detail extends object>(detailType: string, detail: Detail) {
  return {
    version: '0',
    id: '12a18625-1234-5678-90ab-cdef01234567',
    'detail-type': detailType,
    source: 'aws.ses',
    account: '123456789012',
    time: '2026-03-01T10:30:03Z',
    region: 'us-east-1',
    resources: ['arn:aws:ses:us-east-1:123456789012:configuration-set/notification-retry-dev'],
    detail: { ...detail, mail: MAIL },
  };
}
