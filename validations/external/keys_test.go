package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/keyring"
)

const someOrigin = "https://checks.example"

func TestMain(m *testing.M) {
	// No test gets through it. Whoever asked it to dial would have the policy check its address.
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		if err := os.Setenv(name, "http://127.0.0.9:1"); err != nil {
			panic(err)
		}
	}
	coretest.Main(m)
}

// testBundle is a database with one organization, and its keys.
type testBundle struct {
	db    *db.DB
	keys  *Keys
	orgID uuid.UUID
}

func setup(tb testing.TB) *testBundle {
	tb.Helper()
	b := &testBundle{db: coretest.OpenDatabase(tb)}
	b.keys = b.with(tb, keyring.Generate())
	b.orgID = uuid.New()
	b.exec(tb, `INSERT INTO organizations (id, slug, name) VALUES ($1, 'org', 'Org')`, b.orgID)
	return b
}

// with returns the keys of the same database under a ring that has these.
func (b *testBundle) with(tb testing.TB, keys ...string) *Keys {
	tb.Helper()
	ring, err := keyring.Parse(strings.Join(keys, ","))
	if err != nil {
		tb.Fatal(err)
	}
	return NewKeys(b.db, ring)
}

// organizations makes organizations that have a signing key.
func (b *testBundle) organizations(tb testing.TB, keys *Keys, n int) []uuid.UUID {
	tb.Helper()
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = uuid.New()
		b.exec(tb, `INSERT INTO organizations (id, slug, name) VALUES ($1, $2, 'Org')`,
			ids[i], fmt.Sprintf("org-%d", i))
		if _, err := keys.find(tb.Context(), ids[i]); err != nil {
			tb.Fatal(err)
		}
	}
	return ids
}

func (b *testBundle) exec(tb testing.TB, query string, args ...any) {
	tb.Helper()
	if _, err := b.db.Pool.Exec(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

func (b *testBundle) secret(tb testing.TB) api.SigningSecret {
	tb.Helper()
	secrets, err := b.keys.Read(tb.Context(), core.Principal{OrgID: b.orgID}, []string{someOrigin})
	if err != nil {
		tb.Fatal(err)
	}
	return secrets[0]
}

func (b *testBundle) rotate(tb testing.TB) {
	tb.Helper()
	if err := b.keys.Rotate(tb.Context(), core.Principal{OrgID: b.orgID}); err != nil {
		tb.Fatal(err)
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.secret(t)
	if len(first.Secret) < 40 || first.Previous != "" {
		t.Fatalf("secret = %+v, want one and no previous", first)
	}
	b.rotate(t)
	second := b.secret(t)
	if second.Secret == first.Secret || string(second.Previous) != first.Secret {
		t.Fatalf("secret after a rotation = %+v, want another with the previous", second)
	}
	b.exec(t, `UPDATE signing_keys SET rotated_at = now() - interval '25 hours'`)
	if third := b.secret(t); third.Secret != second.Secret || third.Previous != "" {
		t.Errorf("secret a day later = %+v, want the current alone", third)
	}
	if n := coretest.One[int64](t, b.db,
		`SELECT count(*) FROM audit_records WHERE action = 'signing_secret.rotate'`); n != 1 {
		t.Errorf("audit records = %d, want 1", n)
	}
	if _, err := b.keys.find(t.Context(), uuid.New()); err == nil {
		t.Error("an organization that does not exist has a key")
	}
}

func TestSecretsDifferByOriginAndOrganization(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.organizations(t, b.keys, 1)[0]
	seen := map[string]bool{}
	for _, org := range []uuid.UUID{b.orgID, other} {
		secrets, err := b.keys.Read(t.Context(), core.Principal{OrgID: org},
			[]string{someOrigin, "http://checks.example", someOrigin + ":8443"})
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			seen[secret.Secret] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("different secrets = %d, want 6", len(seen))
	}
	if a, b := b.secret(t), b.secret(t); a != b {
		t.Error("the secret of an origin has changed by itself")
	}
}

func TestReadingSecretsIsAudited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, `DELETE FROM audit_records`)
	reader := core.Principal{OrgID: b.orgID, UserID: uuid.New(), TokenID: uuid.New()}
	if _, err := b.keys.Read(t.Context(), reader, []string{someOrigin, "https://b.example"}); err != nil {
		t.Fatal(err)
	}
	got := coretest.One[string](t, b.db,
		`SELECT concat_ws(' ', action, org_id, actor_id, token_id, detail) FROM audit_records`)
	want := fmt.Sprintf("signing_secret.read %s %s %s %s https://b.example",
		b.orgID, reader.UserID, reader.TokenID, someOrigin)
	if got != want {
		t.Errorf("audit record = %q, want %q", got, want)
	}
	// Where nothing can be recorded, nothing is shown.
	b.exec(t, `ALTER TABLE audit_records ADD CONSTRAINT ck_test CHECK (action <> 'signing_secret.read') NOT VALID`)
	if secrets, err := b.keys.Read(t.Context(), reader, []string{someOrigin}); err == nil {
		t.Errorf("secrets without a record = %v, want an error", secrets)
	}
}

// A dump of the database does not hold a key or a secret in any form.
func TestSigningKeysAreEncrypted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.rotate(t)
	keys, err := b.keys.find(t.Context(), b.orgID)
	if err != nil {
		t.Fatal(err)
	}
	stored := coretest.One[[]byte](t, b.db, `SELECT sealed || sealed_previous FROM signing_keys`)
	for _, secret := range [][]byte{keys.current, keys.previous} {
		if bytes.Contains(stored, secret) {
			t.Error("a signing key lies in the database in clear")
		}
	}
	// The rows of two organizations, and the columns of a row, cannot be exchanged.
	other := b.organizations(t, b.keys, 1)[0]
	b.exec(t, `UPDATE signing_keys SET sealed = (SELECT sealed FROM signing_keys WHERE org_id = $1) WHERE org_id = $2`,
		b.orgID, other)
	if _, err := b.keys.find(t.Context(), other); err == nil {
		t.Error("an organization can use the key of another")
	}
	b.exec(t, `UPDATE signing_keys SET sealed = sealed_previous WHERE org_id = $1`, b.orgID)
	if _, err := b.keys.find(t.Context(), b.orgID); err == nil {
		t.Error("the previous key can be put back as the current one")
	}
}

func TestSigningKeysNeedTheKeyOfTheInstallation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := b.secret(t)
	if _, err := b.with(t).find(t.Context(), b.orgID); !errors.Is(err, keyring.ErrNoKey) {
		t.Errorf("without a key: %v, want ErrNoKey", err)
	}
	_, err := b.with(t, keyring.Generate()).find(t.Context(), b.orgID)
	if !errors.Is(err, keyring.ErrUnknownKey) {
		t.Errorf("with another key: %v, want ErrUnknownKey", err)
	}
	for _, keys := range []*Keys{b.with(t), b.with(t, keyring.Generate())} {
		if err := keys.Rotate(t.Context(), core.Principal{OrgID: b.orgID}); err == nil {
			t.Error("a rotation that cannot read the current key has replaced it")
		}
	}
	if after := b.secret(t); after != before {
		t.Error("a failed rotation has changed the secret")
	}
}

func TestReseal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	oldKey, newKey := keyring.Generate(), keyring.Generate()
	before, during, after := b.with(t, oldKey), b.with(t, newKey, oldKey), b.with(t, newKey)
	ids := b.organizations(t, before, 105)
	// Some have a previous key as well.
	for _, id := range ids[:3] {
		if err := before.Rotate(t.Context(), core.Principal{OrgID: id}); err != nil {
			t.Fatal(err)
		}
	}
	want := allKeys(t, before, ids)
	wantUse(t, during, keyring.Use{Outdated: len(ids)})
	wantUse(t, after, keyring.Use{Unknown: []string{before.ring.IDs()[0].String()}, Outdated: len(ids)})

	if n, err := during.reseal(t.Context()); n != len(ids) || err != nil {
		t.Fatalf("encrypted anew = %d, %v, want %d", n, err, len(ids))
	}
	wantUse(t, after, keyring.Use{})
	if diff := cmp.Diff(want, allKeys(t, after, ids)); diff != "" {
		t.Errorf("keys under the new key alone (-before +after):\n%s", diff)
	}
	if n, err := during.reseal(t.Context()); n != 0 || err != nil {
		t.Errorf("a second time = %d, %v, want 0", n, err)
	}
	if n := coretest.One[int64](t, b.db, `SELECT count(DISTINCT org_id) FROM audit_records
		WHERE action = 'signing_secret.reencrypt'`); n != int64(len(ids)) {
		t.Errorf("organizations with an audit record = %d, want %d", n, len(ids))
	}
}

// A secret that is rotated while its key is encrypted anew is neither lost nor brought back.
func TestResealAgainstRotations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	oldKey, newKey := keyring.Generate(), keyring.Generate()
	before, during := b.with(t, oldKey, newKey), b.with(t, newKey, oldKey)
	id := b.organizations(t, before, 1)[0]
	for range 20 {
		last, err := before.find(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for _, work := range []func(context.Context) error{
			func(ctx context.Context) error { return before.Rotate(ctx, core.Principal{OrgID: id}) },
			func(ctx context.Context) error { _, err := during.reseal(ctx); return err },
		} {
			group.Go(func() {
				if err := work(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		now, err := before.find(t.Context(), id)
		if err != nil || !bytes.Equal(now.previous, last.current) {
			t.Fatalf("the key before the rotation is not the previous one, %v", err)
		}
	}
}

func (k *Keys) reseal(ctx context.Context) (int, error) {
	return SealedTable().Reseal(ctx, k.db, k.ring)
}

func allKeys(tb testing.TB, of *Keys, ids []uuid.UUID) [][2]string {
	tb.Helper()
	all := make([][2]string, len(ids))
	for i, id := range ids {
		keys, err := of.find(tb.Context(), id)
		if err != nil {
			tb.Fatal(err)
		}
		all[i] = [2]string{string(keys.current), string(keys.previous)}
	}
	return all
}

func wantUse(tb testing.TB, keys *Keys, want keyring.Use) {
	tb.Helper()
	used := make(map[keyring.ID]int)
	err := SealedTable().Count(tb.Context(), keys.db, used)
	if diff := cmp.Diff(want, keys.ring.Compare(used)); diff != "" || err != nil {
		tb.Errorf("use of keys, %v (-want +got):\n%s", err, diff)
	}
}
