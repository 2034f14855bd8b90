package postgres_test

import (
	"context"
	"database/sql"
	_ "embed"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/postgres"
	"github.com/concerto-lang/concerto/relay/store/storetest"
)

func TestStore(t *testing.T) {
	server := pgtest.Start(t)
	made := map[string]bool{}
	storetest.Run(t, func(t *testing.T, name string) *store.Store {
		name = strings.ToLower(strings.NewReplacer("/", "_", " ", "_").Replace(t.Name())) + "_" + name
		if !made[name] {
			made[name] = true
			do(t, server("postgres"), `CREATE DATABASE `+name)
		}
		s, err := postgres.Open(context.Background(), server(name))
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

//go:embed testdata/schema2.sql
var schema2 string

// TestOld migrates a database with an earlier schema. Its data must remain.
func TestOld(t *testing.T) {
	url := pgtest.Start(t)("postgres")
	do(t, url, schema2)
	s, err := postgres.Open(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	storetest.Old(t, s)
}

func do(t *testing.T, url, text string) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err == nil {
		_, err = db.Exec(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
