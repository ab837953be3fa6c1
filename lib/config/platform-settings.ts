import { Token } from 'aws-cdk-lib';
import * as v from 'valibot';
import { check, explain, listOf } from './config-checks.ts';
import type { Settings } from './setting-types.ts';

/** In code these are as a rule attributes of other resources, which nobody knows before the deployment. */
function known(pattern: RegExp, right: string) {
  const message = explain(right);
  return v.pipe(
    v.string(message),
    v.check((text) => Token.isUnresolved(text) || pattern.test(text), message),
  );
}

const arn = (service: string, resource: string) =>
  new RegExp(`^arn:aws[a-z-]*:${service}:[a-z0-9-]*:(\\d{12}|aws)?:?${resource}$`);
const keyArn = known(arn('kms', 'key/[A-Za-z0-9-]+'), 'must be the ARN of a key: arn:aws:kms:REGION:ACCOUNT:key/ID');
const topicArn = known(
  arn('sns', '[A-Za-z0-9_-]{1,256}'),
  'must be the ARN of a topic that is not FIFO: arn:aws:sns:REGION:ACCOUNT:NAME',
);
const policyArn = known(arn('iam', 'policy/.+'), 'must be the ARN of a policy: arn:aws:iam::ACCOUNT:policy/NAME');
const idOf = (prefix: string, of: string) =>
  known(new RegExp(`^${prefix}-[0-9a-f]{8,17}$`), `must be the id of ${of}, such as ${prefix}-0123456789abcdef0`);
const some = <T>(item: v.GenericSchema<T>, of: string) => {
  const right = `must be a list of at least one ${of}`;
  const full = v.check((all: readonly T[]) => all.length > 0, right);
  return check(v.pipe(listOf(item, of) as unknown as v.GenericSchema<readonly T[]>, full));
};

/** What every service takes: AWS's own rule for tags has no other signs either. */
const tagText = (most: number) => new RegExp(`^[\\p{L}\\p{Z}\\p{N}_.:/=+@-]{0,${most}}$`, 'u');
const tagName = v.pipe(
  v.string(),
  v.check(
    (name) => name !== '' && tagText(128).test(name) && !/^aws:/i.test(name),
    'must be named by 1 to 128 letters, digits, spaces and _ . : / = + - @, and not begin with aws:',
  ),
);
const tagValue = known(tagText(256), 'must be a text of at most 256 letters, digits, spaces and _ . : / = + - @');

/** What a platform team brings: its network, key, topic, boundary and tags (docs/reference/your-platform.md). */
export const PLATFORM_SETTINGS = {
  /**
   * The [network](docs/reference/your-platform.md#network) in which all functions run.
   * @ja 全関数を実行する[ネットワーク](docs/reference/your-platform.md#network)
   */
  vpc: {
    optional: true,
    section: {
      /** Its id. @ja VPC の ID */
      vpcId: { check: check(idOf('vpc', 'a VPC')), required: true },
      /** Private subnets, in two availability zones or more. @ja プライベートサブネット。2 つ以上のアベイラビリティーゾーンに置く */
      subnetIds: { check: some(idOf('subnet', 'a subnet'), 'subnet id'), required: true },
      /** Security groups of the functions. @ja 関数のセキュリティグループ */
      securityGroupIds: { check: some(idOf('sg', 'a security group'), 'security group id'), required: true },
    },
  },
  /**
   * [Your key](docs/reference/your-platform.md#key) for tables, queues, topic, logs, secrets, files and recipients, in
   * place of keys of the stack. Set it before the first deployment.
   * @ja テーブル・キュー・トピック・ログ・シークレット・ファイル・受信者の暗号化に使う[自社のキー](docs/reference/your-platform.md#key)。スタックはキーを作らない。
   * 最初のデプロイの前に設定する
   */
  encryptionKeyArn: { check: check(keyArn) },
  /**
   * [Your topic](docs/reference/your-platform.md#topic) for alarms and notices, in place of one of the stack.
   * @ja アラームとお知らせを送る[自社のトピック](docs/reference/your-platform.md#topic)。スタックはトピックを作らない
   */
  alarmTopicArn: { check: check(topicArn) },
  /** Permissions boundary of every role, those of the CDK's functions included. @ja 全ロール（CDK の関数のロールを含む）のアクセス許可の境界 */
  permissionsBoundaryArn: { check: check(policyArn) },
  /** Tags of everything that takes tags, such as `{"CostCenter": "4711"}`. @ja タグを付けられる全リソースのタグ。例: `{"CostCenter": "4711"}` */
  tags: { check: check(v.record(tagName, tagValue)), standard: {} },
} as const satisfies Settings;
