import type { MessageFormat } from '../../core/model/notification.ts';

export interface SampleText {
  readonly subject: string;
  readonly body: string;
  readonly format: MessageFormat;
}

/** Texts of the sample notifications, in both languages of the source documents and in all three formats. */
export const SAMPLE_TEXTS: readonly SampleText[] = [
  {
    subject: '【スキル更新】佐々木さんのスキル情報が更新されました',
    body: '佐々木さん\n\n次のスキルが更新されました。\n\nスキル: TypeScript\n更新者: 小林\n\n※このメールは自動送信です。',
    format: 'PLAIN',
  },
  {
    subject: 'Your certificate expires in two weeks',
    body: '<p>Hello,</p><p>the certificate <b>AWS Developer</b> expires on <i>5 December</i>.<br>Please renew it.</p>',
    format: 'HTML',
  },
  {
    subject: '目標期限のお知らせ',
    body: '**期限が近づいています**\n\n- 目標: 基本情報技術者試験\n- 残り日数: 14日\n- 進捗率: 60%\n\n[詳細を見る](https://example.com/goals/7)',
    format: 'MARKDOWN',
  },
  {
    subject: 'Nightly import failed',
    body: 'The import of *employees.csv* stopped at line 1,204.\n\n1. Open [the report](https://example.com/imports/88)\n2. Correct the line\n3. Start it again',
    format: 'MARKDOWN',
  },
  {
    subject: '【重要】システムメンテナンスのご案内 🔧',
    body: '明日 2:00〜4:00 の間、勤怠管理システムを停止します。\nご不便をおかけしますが、よろしくお願いいたします。',
    format: 'PLAIN',
  },
];
