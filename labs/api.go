package labs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// API is a running classroom's page, asked by a program.
type API struct {
	Base   string // http://host:port
	Token  string // the teacher's, where it is asked for
	Client *http.Client
}

// Send sends one request to a path below /api/v1/ and returns the answer's body; a refusal's own message becomes the error.
func (a API) Send(ctx context.Context, method, path string, body io.Reader) ([]byte, error) {
	address := strings.TrimSuffix(a.Base, "/") + "/api/v1/" + path
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if a.Token != "" {
		request.Header.Set("Authorization", "Bearer "+a.Token)
	}
	response, err := a.Client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w; is the classroom running? Start it with: twinlog up", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(&bounded{response.Body, LargestProgress, fmt.Errorf("the answer of %s is over %d MiB, more than is read", address, LargestProgress>>20)})
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		var problem struct {
			Error struct{ Message string }
		}
		if json.Unmarshal(answer, &problem) == nil && problem.Error.Message != "" {
			return nil, errors.New(problem.Error.Message)
		}
		return nil, fmt.Errorf("%s answered %s", address, response.Status)
	}
	return answer, nil
}
