package client

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Call is a call that an external validator has answered with 202.
type Call struct {
	// Receipt and Run are in the headers Sv-Receipt and Sv-Run of the call.
	Receipt, Run string
	// Secret is that of the validator.
	Secret string
}

// CallBack sends the result of a call, signed with the secret of the validator. The client needs no token for it. The
// first result counts, so repeating it changes nothing.
func (c *Client) CallBack(ctx context.Context, call Call, answer api.ValidatorAnswer) (api.CallbackReceipt, error) {
	content, err := json.Marshal(answer)
	if err != nil {
		return api.CallbackReceipt{}, fmt.Errorf("write the answer: %w", err)
	}
	return do[api.CallbackReceipt](ctx, c, request{
		method: http.MethodPost, path: "/api/callbacks/" + url.PathEscape(call.Receipt) + "/", body: bytesBody(content),
		header: http.Header{
			"Content-Type": {"application/json"}, "Sv-Signature": {call.signature(time.Now().Unix(), content)},
		},
	})
}

func (c Call) signature(at int64, content []byte) string {
	sum := hmac.New(sha256.New, []byte(c.Secret))
	fmt.Fprintf(sum, "v2.callback.%d.%s.%s.%x", at, c.Receipt, c.Run, sha256.Sum256(content))
	return fmt.Sprintf("t=%d,v2=%s", at, hex.EncodeToString(sum.Sum(nil)))
}
