import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type CfnResource, Duration, Lazy, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import {
  AllowedMethods,
  CachePolicy,
  Distribution,
  Function as EdgeFunction,
  FunctionCode,
  FunctionEventType,
  FunctionRuntime,
  HeadersFrameOption,
  HeadersReferrerPolicy,
  type IOrigin,
  OriginRequestPolicy,
  ResponseHeadersPolicy,
  S3OriginAccessControl,
  ViewerProtocolPolicy,
} from 'aws-cdk-lib/aws-cloudfront';
import { S3BucketOrigin } from 'aws-cdk-lib/aws-cloudfront-origins';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket } from 'aws-cdk-lib/aws-s3';
import { BucketDeployment, Source } from 'aws-cdk-lib/aws-s3-deployment';
import { Construct } from 'constructs';
import { securityHeaders } from '../../../src/console-server/security-headers.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { acknowledgeWildcard, readable } from '../function/nag-acknowledgements.ts';
import { useKeyOf } from '../function/permissions.ts';
import { removalPolicyOf } from '../storage/encryption.ts';
import type { SignIn } from './sign-in.ts';

const PROJECT_ROOT = join(import.meta.dirname, '..', '..', '..');
/** The published package has the built page in this folder beside its compiled file. */
const PREBUILT = join(import.meta.dirname, 'console');

/**
 * Files are below /assets/ or beside index.html. Every other path is a route of the page, for which CloudFront serves
 * index.html: an id below a screen may look like the name of a file.
 */
export const ROUTES_OF_THE_PAGE = `function handler(event) {
  var request = event.request;
  if (!/^\\/(assets\\/.+|[^/]+[.][^/]+)$/.test(request.uri)) request.uri = '/index.html';
  return request;
}`;

/** The page's files in a private bucket, and CloudFront in front of them and of the routes. */
export class ConsolePage extends Construct {
  readonly url: string;
  private readonly bucket: IBucket;
  private readonly distribution: Distribution;
  private readonly config: StageConfig;
  private tokenOrigins: readonly string[] = [];

  constructor(scope: Construct, id: string, { config, api }: { readonly config: StageConfig; readonly api: IOrigin }) {
    super(scope, id);
    this.config = config;
    this.bucket = new Bucket(this, 'Files', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      // The files are built anew by every deployment, so nothing is kept. CloudFormation deletes no bucket that holds
      // something: without this a first deployment that fails could not be rolled back.
      removalPolicy: RemovalPolicy.DESTROY,
      autoDeleteObjects: true,
      // CDK's own types do not fit each other under exactOptionalPropertyTypes.
    }) as IBucket;
    const security = {
      responseHeadersPolicy: this.headersPolicy(config),
      viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
    };
    const routes = new EdgeFunction(this, 'Routes', {
      code: FunctionCode.fromInline(ROUTES_OF_THE_PAGE),
      runtime: FunctionRuntime.JS_2_0,
    });
    this.distribution = new Distribution(this, 'Distribution', {
      comment: `notification-retry ${config.stage}: the console`,
      defaultRootObject: 'index.html',
      defaultBehavior: {
        ...security,
        origin: S3BucketOrigin.withOriginAccessControl(this.bucket, {
          originAccessControl: new S3OriginAccessControl(this, 'FilesAccess', {
            originAccessControlName: nameInAccount(this, config),
          }),
        }),
        functionAssociations: [{ function: routes, eventType: FunctionEventType.VIEWER_REQUEST }],
      },
      additionalBehaviors: {
        '/api/*': {
          ...security,
          origin: api,
          allowedMethods: AllowedMethods.ALLOW_ALL,
          cachePolicy: CachePolicy.CACHING_DISABLED,
          originRequestPolicy: OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
        },
      },
    });
    this.url = `https://${this.distribution.domainName}`;
    this.acknowledge();
  }

  /** Puts the files, with how people sign in, and lets CloudFront's copies of the entry expire at once. */
  deploy(signIn: SignIn): void {
    const { issuer, clientId, scope, origins } = signIn;
    this.tokenOrigins = origins;
    // CDK's own log groups outlive every stage: one for two years, one for ever.
    const logGroup = new LogGroup(this, 'DeploymentLog', {
      retention: this.config.logRetentionDays,
      removalPolicy: removalPolicyOf(this.config),
    });
    const emptier = Stack.of(this).node.tryFindChild('Custom::S3AutoDeleteObjectsCustomResourceProvider');
    const handler = emptier?.node.tryFindChild('Handler') as CfnResource | undefined;
    handler?.addPropertyOverride('LoggingConfig.LogGroup', logGroup.logGroupName);
    const deployment = new BucketDeployment(this, 'Deployment', {
      destinationBucket: this.bucket,
      sources: [
        // Like the functions, the page is built only when the stack is bundled.
        Stack.of(this).bundlingRequired ? Source.asset(builtPage()) : Source.data('index.html', ''),
        Source.jsonData('config.json', { sign_in: 'oidc', issuer, client_id: clientId, scope }),
      ],
      distribution: this.distribution,
      distributionPaths: ['/index.html', '/config.json'],
      // CloudFront may need more than the ten minutes for which CDK's function waits; the stack would be rolled back.
      waitForDistributionInvalidation: false,
      logGroup,
    });
    for (const right of useKeyOf('s3', this, this.config)) deployment.handlerRole.addToPrincipalPolicy(right);
    acknowledgeDeployment(this, this.bucket);
  }

  /** The same headers as on loopback. The issuer is known later than the address of the page, which it needs. */
  private headersPolicy(config: StageConfig): ResponseHeadersPolicy {
    const {
      'content-security-policy': _,
      'x-content-type-options': __,
      'x-frame-options': ___,
      ...rest
    } = securityHeaders();
    const { 'referrer-policy': ____, ...custom } = rest;
    return new ResponseHeadersPolicy(this, 'Headers', {
      responseHeadersPolicyName: nameInAccount(this, config),
      securityHeadersBehavior: {
        contentSecurityPolicy: {
          contentSecurityPolicy: Lazy.string({
            produce: () => securityHeaders(this.tokenOrigins)['content-security-policy'],
          }),
          override: true,
        },
        contentTypeOptions: { override: true },
        frameOptions: { frameOption: HeadersFrameOption.DENY, override: true },
        referrerPolicy: { referrerPolicy: HeadersReferrerPolicy.NO_REFERRER, override: true },
        strictTransportSecurity: { accessControlMaxAge: Duration.days(365), includeSubdomains: true, override: true },
      },
      customHeadersBehavior: {
        customHeaders: Object.entries(custom).map(([header, value]) => ({ header, value, override: true })),
      },
    });
  }

  private acknowledge(): void {
    const reasons = {
      'AwsSolutions-S1': 'The bucket holds the public files of the page; only CloudFront reads it.',
      'AwsSolutions-CFR1': 'Operators may be anywhere; who gets in is decided by sign-in.',
      'AwsSolutions-CFR2':
        'Every route needs a token that API Gateway checks, and is throttled; a firewall is the account’s choice.',
      'AwsSolutions-CFR3': 'The routes have an access log of their own; files of the page are public.',
      'AwsSolutions-CFR4':
        'It has CloudFront’s own domain, whose certificate fixes the protocol; browsers negotiate TLS 1.2 or later.',
    };
    for (const [id, reason] of Object.entries(reasons)) {
      Validations.of(this.bucket).acknowledge({ id, reason });
      Validations.of(this.distribution).acknowledge({ id, reason });
    }
  }
}

/** CloudFront's names are one per account, whatever the region: the stage may be in a second one, too. */
function nameInAccount(scope: Construct, { stage }: StageConfig): string {
  return `notification-retry-${stage}-console-${Stack.of(scope).region}`;
}

const MADE_BY_CDK =
  'CDK makes this function, which copies the files of the page into their bucket when the stack is deployed.';

/** States for cdk-nag what CDK's own function for deployments of files may do. */
function acknowledgeDeployment(scope: Construct, bucket: IBucket): void {
  const stack = Stack.of(scope);
  const made = stack.node.children.find(({ node }) => node.id.startsWith('Custom::CDKBucketDeployment'));
  if (made === undefined) throw new Error('CDK made no function that deploys the files of the page');
  const actions = ['s3:GetBucket*', 's3:GetObject*', 's3:List*', 's3:Abort*', 's3:DeleteObject*'];
  const basics = `arn:${stack.partition}:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole`;
  const assets = `arn:${stack.partition}:s3:::cdk-${stack.synthesizer.bootstrapQualifier}-assets-${stack.account}-${stack.region}/*`;
  for (const id of ['AwsSolutions-L1', ...actions.map((action) => `AwsSolutions-IAM5[Action::${action}]`)]) {
    Validations.of(made).acknowledge({ id, reason: MADE_BY_CDK });
  }
  Validations.of(made).acknowledge({
    id: `AwsSolutions-IAM4[Policy::${readable(stack.resolve(basics))}]`,
    reason: MADE_BY_CDK,
  });
  for (const resource of [assets, bucket.arnForObjects('*'), '*']) acknowledgeWildcard(made, resource, MADE_BY_CDK);
}

/** The page: prebuilt in the published package, built now in the repository. */
function builtPage(): string {
  if (existsSync(PREBUILT)) return PREBUILT;
  const page = join(PROJECT_ROOT, '.local', 'console-page');
  const build = `import(${JSON.stringify(join(PROJECT_ROOT, 'console', 'build.ts'))}).then((m) => m.buildConsole(${JSON.stringify(page)}))`;
  execFileSync(process.execPath, ['--import', 'tsx', '-e', build], { cwd: PROJECT_ROOT, stdio: 'inherit' });
  return page;
}
