import type { AccountFacts } from '../../adapters/deployment/account-facts.ts';
import type { PlatformFacts } from '../../adapters/deployment/platform-facts.ts';
import { beyondStage } from '../../core/newsletter/model/senders.ts';
import { type Finding, type Holdings, ok, refused, type Wanted, warning } from './finding.ts';
import { lossesOf } from './losses.ts';
import { platformFindings } from './platform.ts';

/** Lambda's default, and what it gives to a new account. */
const USUAL_CONCURRENCY = 1_000;
const NEW_ACCOUNT = 10;
/** The oldest that the CDK deploys stacks by. */
const BOOTSTRAP = 6;

/** Whether a stage can be deployed here, and what the deployment would lose: one finding per subject. */
export function preflight(
  facts: AccountFacts & { readonly platform?: PlatformFacts },
  wanted: Wanted,
  deployed?: Holdings,
): Finding[] {
  if (facts.region === undefined || facts.region === '') {
    return [refused('region', 'No region is set.', 'Set AWS_REGION to the region of the stage.')];
  }
  if (facts.refused !== undefined) {
    return [
      refused(
        'credentials',
        `AWS cannot be asked: ${facts.refused}.`,
        'Sign in to the account, such as with aws sso login. If you are, it is the network, or the right cloudformation:DescribeStacks.',
      ),
    ];
  }
  return [
    ok('stage', `The stage is ${wanted.stage}.`),
    ok('region', `The region is ${facts.region}.`),
    ok('credentials', 'AWS answers.'),
    ...[bootstrapOf(facts), concurrencyOf(facts, wanted), ...(wanted.channels.includes('email') ? [sesOf(facts)] : [])],
    ...cloudFrontOf(facts, wanted),
    ...platformFindings(facts.platform ?? {}, wanted, facts.region),
    ...stackOf(facts),
    ...(deployed ? [...sendersOf(wanted, deployed), ...lossesOf(wanted, deployed)] : []),
  ];
}

function bootstrapOf({ bootstrap = 0, region, stack }: AccountFacts): Finding {
  if (bootstrap >= BOOTSTRAP) return ok('bootstrap', `The CDK is bootstrapped (version ${bootstrap}).`);
  if (bootstrap === 0 && isReadable(stack)) {
    const says = 'The stage is deployed, but its account has no stack CDKToolkit.';
    return warning('bootstrap', says, 'If the bootstrap has another name there, all is well.');
  }
  const says = bootstrap === 0 ? 'The CDK is not bootstrapped here.' : `The bootstrap is old: version ${bootstrap}.`;
  const account = '$(aws sts get-caller-identity --query Account --output text)';
  return refused('bootstrap', says, `npx cdk bootstrap aws://${account}/${region}`);
}

function concurrencyOf({ concurrency }: AccountFacts, { account_limit = 0 }: Wanted): Finding {
  if (concurrency === undefined)
    return warning('lambda', "Lambda's limit could not be read.", 'Allow lambda:GetAccountSettings.');
  if (account_limit > concurrency) {
    const says = `Lambda runs ${concurrency} functions at once, and cdk.json reserves as if it were ${account_limit}.`;
    return refused('lambda', says, 'Set reservedConcurrency.accountLimit to what the account has, or leave it out.');
  }
  if (concurrency >= USUAL_CONCURRENCY) return ok('lambda', `Lambda runs ${concurrency} functions at once.`);
  const raise = 'Ask Service Quotas for 1,000 concurrent executions of Lambda; it takes a day or two.';
  const says = `Lambda runs ${concurrency} functions at once, and the lanes want more:`;
  if (concurrency > NEW_ACCOUNT) return warning('lambda', `${says} a backlog drains slowly.`, raise);
  return refused('lambda', `${says} throttled messages end in the dead-letter queues.`, raise);
}

/**
 * AWS tells an unverified account only when it makes a distribution, and refuses that: "Your account must be verified
 * before you can add new CloudFront resources". Lambda's small limit is the other sign of a new account.
 */
function cloudFrontOf({ concurrency, stack }: AccountFacts, { console }: Wanted): Finding[] {
  const isNew = concurrency !== undefined && concurrency <= NEW_ACCOUNT;
  if (!console || !isNew || isReadable(stack)) return [];
  const says =
    'CloudFront refuses distributions of new accounts until AWS has verified them, and the console needs one.';
  const remedy = 'Ask AWS Support to verify the account for CloudFront, or deploy with console "off" first.';
  return [warning('cloudfront', says, remedy)];
}

function sesOf({ ses }: AccountFacts): Finding {
  if (ses === undefined) return warning('ses', "SES's account could not be read.", 'Allow ses:GetAccount.');
  if (!ses.sending)
    return refused('ses', 'SES has paused sending.', 'See the reason in the SES console, and answer it.');
  if (!ses.knows_sender) {
    const says = "SES has not verified the stage's sender or its domain in this region, and refuses every mail of it.";
    return warning('ses', says, 'Verify the domain in the SES console under Configuration, Identities.');
  }
  if (ses.production) return ok('ses', `SES takes ${ses.per_day} e-mails in 24 hours.`);
  const says = 'SES is in its sandbox: it sends to verified addresses only, 200 a day.';
  return warning('ses', says, 'Ask for production access in the SES console.');
}

function sendersOf({ newsletters, newsletter_senders }: Wanted, { writing }: Holdings): Finding[] {
  const says = newsletters === true ? beyondStage(writing, newsletter_senders) : undefined;
  const remedy = 'AWS compares capitals before the @: write it alike in newsletter.senders and in the newsletter.';
  return says === undefined ? [] : [warning('senders', says, remedy)];
}

/** A stack that only a deletion brings further: its first deployment failed, or its deletion did. */
const DOOMED: readonly string[] = ['ROLLBACK_COMPLETE', 'ROLLBACK_FAILED', 'DELETE_FAILED'];
const SETTLED = /^(CREATE_COMPLETE|UPDATE_COMPLETE|UPDATE_ROLLBACK_COMPLETE|IMPORT_(ROLLBACK_)?COMPLETE)$/;

/** Whether the stack's outputs name what is there: not before its first deployment is through, nor while it goes. */
export function isReadable(stack: AccountFacts['stack']): boolean {
  if (stack === undefined) return false;
  return (
    Object.keys(stack.outputs).length > 0 && !DOOMED.includes(stack.status) && !/^(ROLLBACK|DELETE)_/.test(stack.status)
  );
}

function stackOf({ stack }: AccountFacts): Finding[] {
  if (stack === undefined) return [];
  const { name, status, is_protected } = stack;
  const is = `${name} is ${status}`;
  if (SETTLED.test(status)) return [ok('stack', `${is}.`)];
  if (status === 'REVIEW_IN_PROGRESS') return [ok('stack', `${is}: nothing is deployed yet.`)];
  if (status.endsWith('_IN_PROGRESS')) return [warning('stack', `${is}.`, 'Wait for its end.')];
  if (status === 'UPDATE_ROLLBACK_FAILED') {
    const remedy = `aws cloudformation continue-update-rollback --stack-name ${name}`;
    return [refused('stack', `${is}: no update is possible before its rollback is through.`, remedy)];
  }
  if (!DOOMED.includes(status)) {
    return [refused('stack', `${is}.`, "See the reason in the stack's events in the CloudFormation console.")];
  }
  const unprotect = `aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name ${name}`;
  const remove = `aws cloudformation delete-stack --stack-name ${name}`;
  return [
    refused(
      'stack',
      `${is}: it can only be deleted${is_protected ? ', and is protected' : ''}.`,
      [...(is_protected ? [unprotect] : []), remove, 'then npm run ops -- leftovers'].join('; '),
    ),
  ];
}
