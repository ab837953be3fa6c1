import type { Sentences } from './sentences.ts';

/**
 * What a person does about a cause (error-types.ts), as the console and the notices say it in Japanese. A repair is a
 * clause that a sentence continues: `認証情報を更新し` + `、リドライブしてください。`.
 */
export const JAPANESE_REMEDIES: Sentences = {
  'None yet: it is retried. If it stays, check that the provider can be reached.':
    '自動でリトライします。続く場合は、送信先に接続できるか確かめてください。',
  "None yet: it is retried. If it stays, read the retry record's error_details.":
    '自動でリトライします。続く場合は、リトライ記録の error_details を確認してください。',
  "None yet: it is retried at longer intervals. If it stays, see the provider's status page.":
    '間隔を延ばして自動でリトライします。続く場合は、送信先の稼働状況を確認してください。',
  "None: it is sent once the provider's limit lifts. If it happens often, ask the provider for a higher limit.":
    '送信先の制限が解けたら送信します。頻発する場合は、上限の引き上げを送信先に依頼してください。',
  'None yet: the credential is read anew and the send retried. If it stays, rotate the credential.':
    '認証情報を読み直して自動でリトライします。続く場合は、認証情報を更新してください。',
  'Correct the recipient': '宛先を訂正し',
  "Check the integration's settings and credential, then redrive.":
    '連携設定と認証情報を確かめ、リドライブしてください。',
  'Fix the template, and the text of this one': 'テンプレートとこの通知の本文を修正し',
  'Its row is malformed: its writer has to correct the columns, and to remove failure_reason.':
    '行の形式が不正です。書き手が列を訂正し、failure_reason を外す必要があります。',
  'Grant the integration the access that the error message names, then redrive.':
    'エラーメッセージが示す権限を連携設定に与え、リドライブしてください。',
  'Find out what failed last and remove the cause, then redrive.':
    '最後の失敗の原因を調べて取り除き、リドライブしてください。',
  'Decide whether the notification is still worth sending; if so, redrive it, if not, delete its dead letter.':
    'まだ送る価値があればリドライブし、なければデッドレターを削除してください。',
  'None: an operator cancelled it, or its writer deleted it (is_deleted). If it is to be sent after all, take that back and retry it by its log_id.':
    '対処は不要です。運用者が取り消したか、書き手が削除（is_deleted）しました。やはり送る場合は、それを戻してから log_id を指定してリトライしてください。',
  'Another program wrote this reason. Ask its owners, or correct the row and retry it by its log_id.':
    'ほかのプログラムが書いた理由です。その担当者に尋ねるか、行を訂正し、log_id を指定してリトライしてください。',
  'Another program put it among the dead ones. Its writer has to correct it, or to remove it.':
    'ほかのプログラムが断念の一覧に入れました。書き手での訂正か削除が必要です。',
  'Check that {provider} can be reached': '{provider}に接続できることを確かめ',
  'Check that {provider} is up': '{provider}が動いていることを確かめ',
  'Ask {provider} for a higher limit': '{provider}に上限の引き上げを依頼し',
  'Rotate the credential': '認証情報を更新し',
  'Find out from the last answer what {provider} refuses': '最後の応答から、{provider}が拒否したものを調べ',
  'Amazon SES': 'Amazon SES ',
  Slack: 'Slack ',
  Teams: 'Teams ',
  'the receiver': '受信側',
  'its operator': '受信側の運用者',
  'the provider': '送信先',
  'Set integration_config_id to an integration whose secret has token or webhook_url, or give the URL of an incoming webhook as recipient':
    'integration_config_id に、シークレットに token か webhook_url がある連携設定を指定するか、宛先を Incoming Webhook の URL にし',
  'Set integration_config_id to an integration whose secret has webhook_url, or give the URL of a workflow as recipient':
    'integration_config_id に、シークレットに webhook_url がある連携設定を指定するか、宛先をワークフローの URL にし',
  "Give an https URL as recipient, or url in the integration's secret":
    '宛先か、連携設定のシークレットの url に https の URL を指定し',
  "Correct the URL: the recipient, or url or webhook_url in the integration's secret":
    'URL（宛先、または連携設定のシークレットの url か webhook_url）を訂正し',
  'Correct the recipient to one e-mail address: ASCII characters, an @ sign, and a domain':
    '宛先を 1 件のメールアドレス（ASCII 文字、@、ドメイン）に訂正し',
  "Correct from in the integration's secret, or the stage's senderAddress":
    '連携設定のシークレットの from か、ステージの senderAddress を訂正し',
  'Shorten message_body': 'message_body を短くし',
  'Shorten subject or message_body': 'subject か message_body を短くし',
  'Simplify message_body, or send it as PLAIN': 'message_body を単純にするか、PLAIN で送るようにし',
  'Correct integration_config_id to 1 to 100 letters, digits or any of _ + = . @ -':
    'integration_config_id を 1〜100 文字の英数字か _ + = . @ - に訂正し',
  "Store the integration's credential as secret notification-retry/STAGE/integrations/CHANNEL/INTEGRATION":
    '連携設定の認証情報をシークレット notification-retry/STAGE/integrations/CHANNEL/INTEGRATION に保存し',
  "Create the secret, or write the tenant's tenant_id into it, or * for every tenant: notifications from the API need one of the two":
    'シークレットを作成するか、その tenant_id にテナント（全テナントなら *）を書き（API からの通知にはどちらかが必要です）',
  "Correct tenant_id in the secret and redrive, or choose an integration of the tenant's":
    'シークレットの tenant_id を訂正してリドライブするか、そのテナントの連携設定を選び',
  "Correct the fields of the secret that the attempt's record names": '試行の記録が示すシークレットの項目を訂正し',
  '{repair}, then redrive what is still worth sending; delete the dead letters of the rest.':
    '{repair}、まだ送る価値のあるものをリドライブし、残りのデッドレターは削除してください。',
  '{repair}: Correct in the console, or ops correct LOG_ID, changes and resends it.':
    '{repair}、コンソールの「訂正」か ops correct LOG_ID で再送してください。',
  '{repair}, then redrive.': '{repair}、リドライブしてください。',
};
