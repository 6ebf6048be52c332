package api

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/stretchr/testify/require"
)

// Each member of the request has a row of the table, or its parent has, and no row is of a member
// that the SDK does not know.
func TestTheTableOfTheAPIIsThatOfTheSDK(t *testing.T) {
	text, err := os.ReadFile("../../docs/compatibility.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "### CreateTrainingJob\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n### ")
	var rows []string
	for line := range strings.Lines(table) {
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, name := range regexp.MustCompile("`([A-Za-z0-9.]+)`").FindAllStringSubmatch(names, -1) {
			rows = append(rows, name[1])
		}
	}
	members := leaves(reflect.TypeFor[sagemaker.CreateTrainingJobInput](), "")
	require.Greater(t, len(members), 60)
	for _, member := range members {
		require.True(t, slices.ContainsFunc(rows, func(row string) bool { return within(member, row) }), "no row is of %s", member)
	}
	for _, row := range rows {
		require.True(t, slices.ContainsFunc(members, func(member string) bool { return within(member, row) }), "%s is no member", row)
	}
}

func within(member, row string) bool { return member == row || strings.HasPrefix(member, row+".") }

// leaves returns the paths of the members that have none of their own.
func leaves(t reflect.Type, path string) (found []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return []string{path}
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			found = append(found, leaves(f.Type, strings.TrimPrefix(path+"."+f.Name, "."))...)
		}
	}
	return found
}
