//go:build slow

package operations

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestIdemcheckThroughNginx has all cases over TLS, and HTTP/2 among them.
func TestIdemcheckThroughNginx(t *testing.T) {
	t.Parallel()
	i := program.Install(t, "SV_RUN_LEASE=30s", "SV_RUN_SWEEP_AFTER=30s", "SV_MAX_BODY_BYTES=2097152")
	one, other := program.Serve(t, i.Settings), program.Serve(t, i.Settings)
	n := newNginx(t, []*program.Server{one, other})
	i.Settings = append(i.Settings, "SSL_CERT_FILE="+n.encrypt(t))
	i.Idemcheck(t, "https://"+n.address, other.URL(), func() {
		one.Kill()
		one = one.Again(t, i.Settings)
	})
}

// encrypt has nginx speak TLS, by a certificate in the file that it returns.
func (n *nginx) encrypt(tb testing.TB) string {
	tb.Helper()
	server := httptest.NewTLSServer(nil)
	server.Close()
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		tb.Fatal(err)
	}
	n.place(tb, "tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	n.place(tb, "tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	n.place(tb, "simplevalidations.conf", strings.NewReplacer(
		"listen 80;", "listen "+n.address+" ssl http2;", "# ssl_certificate ", "ssl_certificate ",
		"# ssl_certificate_key", "ssl_certificate_key", "/etc/nginx/tls/simplevalidations.crt", n.dir+"/tls.crt",
		"/etc/nginx/tls/simplevalidations.key", n.dir+"/tls.key",
	).Replace(program.Deployed(tb, "nginx/simplevalidations.conf")))
	n.takeOut(tb, nil)
	return filepath.Join(n.dir, "tls.crt")
}
