package platform

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writing is a log that is told when it is written to, and takes its time.
type writing struct {
	strings.Builder
	first, goOn chan struct{}
}

func (w *writing) Write(b []byte) (int, error) {
	if w.Len() == 0 {
		close(w.first)
		<-w.goOn
	}
	return w.Builder.Write(b)
}

// What a child has written before its end comes, however late, and though another holds the pipe open.
func TestASlowLogGetsTheLastWords(t *testing.T) {
	log := &writing{first: make(chan struct{}), goOn: make(chan struct{})}
	output, err := takeOutput(log)
	require.NoError(t, err)
	defer output.childs.Close()
	_, err = output.childs.WriteString("first words\n")
	require.NoError(t, err)
	<-log.first
	_, err = output.childs.WriteString("last words\n")
	require.NoError(t, err)
	require.NoError(t, output.ours.SetReadDeadline(time.Unix(1, 0))) // the time is over
	close(log.goOn)
	output.end(0)
	require.Equal(t, "first words\nlast words\n", log.String())
}
