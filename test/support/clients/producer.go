// A producer with a client that oapi-codegen generated: test/clients/generated-clients.test.ts compiles and runs it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

var ctx = context.Background()

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func send(client *ClientWithResponses, body string) *SendNotificationResponse {
	params := &SendNotificationParams{IdempotencyKey: "go"}
	answer, err := client.SendNotificationWithResponse(ctx, params, Notification{
		Channel: NotificationChannelWebhook, Recipient: os.Getenv("RECIPIENT"), Body: body,
	})
	check(err)
	return answer
}

func sendBatch(client *ClientWithResponses) []BatchResults_Results_Item {
	var batch Batch
	items := fmt.Sprintf(`{"notifications":[
		{"channel":"webhook","recipient":%q,"body":"Hello"}, {"channel":"webhook","recipient":"","body":"Hello"}]}`,
		os.Getenv("RECIPIENT"))
	check(json.Unmarshal([]byte(items), &batch))
	answer, err := client.SendNotificationsWithResponse(ctx, &SendNotificationsParams{IdempotencyKey: "go-batch"}, batch)
	check(err)
	return answer.JSON200.Results
}

func repeats(item BatchResults_Results_Item) bool {
	accepted, err := item.AsBatchResultsResults0()
	check(err)
	return accepted.Repeat != nil && *accepted.Repeat
}

func untilDone(client *ClientWithResponses, logId string) *NotificationState {
	for {
		answer, err := client.GetNotificationWithResponse(ctx, logId)
		check(err)
		if answer.JSON200.Status == NotificationStateStatusDone {
			return answer.JSON200
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
		return nil
	}
	client, err := NewClientWithResponses(os.Getenv("API"), WithRequestEditorFn(authorize))
	check(err)
	logId := send(client, "Hello").JSON202.LogId
	attempts := []string{}
	for _, attempt := range untilDone(client, logId).Attempts {
		attempts = append(attempts, string(attempt.Status))
	}
	first := sendBatch(client)
	second := sendBatch(client)
	refused, err := second[1].AsBatchResultsResults1()
	check(err)
	channel := ListNotificationsParamsChannelWebhook
	limit, from := 7, time.Now().Add(-time.Hour)
	page, err := client.ListNotificationsWithResponse(ctx, &ListNotificationsParams{
		Channel: &channel, Limit: &limit, From: &from,
	})
	check(err)
	listed := false
	for _, found := range page.JSON200.Notifications {
		listed = listed || found.LogId == logId
	}
	tomorrow, retries := time.Now().Add(24*time.Hour), 3
	later, err := client.SendNotificationWithResponse(ctx, &SendNotificationParams{IdempotencyKey: "go-later"}, Notification{
		Channel: NotificationChannelWebhook, Recipient: os.Getenv("RECIPIENT"), Body: "Later",
		ScheduledAt: &tomorrow, MaxRetryCount: &retries,
	})
	check(err)
	waiting, err := client.GetNotificationWithResponse(ctx, later.JSON202.LogId)
	check(err)
	off := waiting.JSON200.ScheduledAt.Sub(tomorrow).Abs()
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"log_id":    logId,
		"attempts":  attempts,
		"repeats":   []bool{repeats(first[0]), repeats(second[0])},
		"refused":   refused.Problem.Type,
		"listed":    listed,
		"scheduled": off < 2*time.Second && waiting.JSON200.RetryCount == 0,
		"reused":    send(client, "Something else").ApplicationproblemJSON409.Type,
	}))
}
