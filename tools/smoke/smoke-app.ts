import { App } from 'aws-cdk-lib';
import { smokeStack } from './stack.ts';

/** The CDK app of the smoke test: `npm run smoke:aws` names sender and account. */
const app = new App();
smokeStack(app, String(app.node.tryGetContext('sender')), String(app.node.tryGetContext('account')));
