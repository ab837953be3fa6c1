"""A producer with a client that openapi-python-client generated: test/clients/generated-clients.test.ts runs it."""

import json
import os
import time
from datetime import datetime, timedelta, timezone

from notification_retry_client import AuthenticatedClient
from notification_retry_client.api.read import get_notification, list_notifications
from notification_retry_client.api.send import send_notification, send_notifications
from notification_retry_client.models import (
    Accepted,
    Batch,
    BatchNotificationsItem,
    BatchResults,
    BatchResultsResultsItemType0,
    BatchResultsResultsItemType1,
    ListNotificationsChannel,
    Notification,
    NotificationChannel,
    NotificationList,
    NotificationState,
    NotificationStateStatus,
    Problem,
)

client = AuthenticatedClient(
    base_url=os.environ["API"], token=os.environ["API_KEY"], raise_on_unexpected_status=True
)
notification = {"channel": "webhook", "recipient": os.environ["RECIPIENT"], "body": "Hello"}


def send(body):
    return send_notification.sync(client=client, body=Notification.from_dict(body), idempotency_key="python")


def send_batch():
    items = [BatchNotificationsItem.from_dict({**notification, "recipient": to}) for to in (notification["recipient"], "")]
    answer = send_notifications.sync(client=client, body=Batch(items), idempotency_key="python-batch")
    assert isinstance(answer, BatchResults), answer
    return answer.results


def until_done(log_id):
    while True:
        state = get_notification.sync(log_id, client=client)
        assert isinstance(state, NotificationState), state
        if state.status == NotificationStateStatus.DONE:
            return state
        time.sleep(0.1)


accepted = send(notification)
assert isinstance(accepted, Accepted), accepted
done = until_done(accepted.log_id)
first, _ = send_batch()
second, refused = send_batch()
assert isinstance(first, BatchResultsResultsItemType0), first
assert isinstance(second, BatchResultsResultsItemType0), second
assert isinstance(refused, BatchResultsResultsItemType1), refused
now = datetime.now(timezone.utc)
page = list_notifications.sync(
    client=client, channel=ListNotificationsChannel.WEBHOOK, limit=7, from_=now - timedelta(hours=1)
)
assert isinstance(page, NotificationList), page
later = send_notification.sync(
    client=client,
    body=Notification(
        channel=NotificationChannel.WEBHOOK,
        recipient=notification["recipient"],
        body="Later",
        scheduled_at=now + timedelta(days=1),
        max_retry_count=3,
    ),
    idempotency_key="python-later",
)
assert isinstance(later, Accepted), later
waiting = get_notification.sync(later.log_id, client=client)
assert isinstance(waiting, NotificationState), waiting
ahead = waiting.scheduled_at - now
reused = send({**notification, "body": "Something else"})
assert isinstance(reused, Problem), reused
print(
    json.dumps(
        {
            "log_id": accepted.log_id,
            "attempts": [attempt.status.value for attempt in done.attempts],
            "repeats": [bool(first.repeat), bool(second.repeat)],
            "refused": refused.problem.type_.value,
            "listed": any(found.log_id == accepted.log_id for found in page.notifications),
            "scheduled": abs(ahead - timedelta(days=1)) < timedelta(seconds=2) and waiting.retry_count == 0,
            "reused": reused.type_.value,
        }
    )
)
