package visualizer

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"twinlog/engine/cluster"
	"twinlog/engine/sentence"
)

// lookable is a classroom that can be looked into: it answers with the question, or with the error that the name of the file calls for.
type lookable struct{ *classroom }

func (l lookable) Look(_ context.Context, node string, question cluster.Question) (json.RawMessage, error) {
	if err := map[string]error{"gone": cluster.ErrGone, "none": cluster.ErrNotThere, "odd": cluster.ErrRefused}[question.File]; err != nil {
		return nil, sentence.Error(err, "test", "{file} of {node}", question.File, node)
	}
	if node == "kafka-9" {
		return nil, cluster.ErrUnknownNode
	}
	return json.Marshal(question)
}

func TestLookingIntoNodes(t *testing.T) {
	_, url := serving(t, Config{Control: lookable{newClassroom()}})
	nodes := url + "/api/v1/nodes/"
	for path, want := range map[string]cluster.Question{
		"kafka-2/messages/17?run=r1":             {What: cluster.LookMessage, Seq: 17, Run: "r1"},
		"kafka-2/content?file=a%2Fb.log&at=9":    {What: cluster.LookFile, File: "a/b.log", At: 9},
		"kafka-2/frame?file=a%2Fb.log":           {What: cluster.LookFrame, File: "a/b.log"},
		"kafka-2/thing?thing=znode%20%2F%3Fx%3D": {What: cluster.LookThing, Thing: "znode /?x="},
	} {
		status, _, body := ask(t, "GET", nodes+path, "")
		if got := decode[cluster.Question](t, body); status != 200 || got != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for path, code := range map[string]struct {
		status int
		code   string
	}{
		"kafka-2/messages/0":                                {400, "badRequest"},
		"kafka-2/messages/-1":                               {400, "badRequest"},
		"kafka-2/messages/x":                                {400, "badRequest"},
		"kafka-9/messages/1":                                {404, "unknownNode"},
		"kafka-2/content":                                   {400, "badRequest"},
		"kafka-2/content?file=x&at=-1":                      {400, "badRequest"},
		"kafka-2/frame?file=x&at=y":                         {400, "badRequest"},
		"kafka-2/content?file=" + strings.Repeat("x", 2001): {400, "badRequest"},
		"kafka-2/thing":                                     {400, "badRequest"},
		"kafka-2/thing?thing=" + strings.Repeat("x", 2001):  {400, "badRequest"},
		"kafka-2/content?file=gone":                         {410, "gone"},
		"kafka-2/content?file=none":                         {404, "notFound"},
		"kafka-2/frame?file=odd":                            {409, "refused"},
	} {
		status, _, body := ask(t, "GET", nodes+path, "")
		mustRefuse(t, status, body, code.status, code.code)
	}
	_, without := serving(t, Config{Control: newClassroom()})
	status, _, body := ask(t, "GET", without+"/api/v1/nodes/kafka-2/messages/1", "")
	mustRefuse(t, status, body, 501, "notAvailable")
}

// TestForeignPagesCannotLook: what nodes hold is not for other sites' pages.
func TestForeignPagesCannotLook(t *testing.T) {
	_, url := serving(t, Config{Control: lookable{newClassroom()}})
	for name, value := range map[string]string{"Host": "evil.example", "Origin": "http://evil.example"} {
		request, err := http.NewRequest(http.MethodGet, url+"/api/v1/nodes/kafka-2/content?file=x", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(name, value)
		if name == "Host" {
			request.Host = value
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: %s", name, value, response.Status)
		}
	}
}
