/** Every screen of the console with the sample answers: its path, and the heading that says it is there. */
export const SCREENS = [
  { path: '/', heading: 'Overview' },
  { path: '/notifications', heading: 'Notifications' },
  { path: '/notifications/NL1', heading: /^NL1/ },
  { path: '/notifications/NL2', heading: /^NL2/ },
  { path: '/dead-letters', heading: 'Dead letters' },
  { path: '/operations', heading: 'Operations' },
  { path: '/newsletters', heading: 'Newsletters' },
  { path: '/newsletters/emails/EM1', heading: /^Autumn news/ },
  { path: '/newsletters/members', heading: 'Members' },
  { path: '/newsletters/members/M1?tenant=TENANT001', heading: 'M1' },
  { path: '/keys', heading: 'Keys' },
  { path: '/audit', heading: 'Audit log' },
] as const;
