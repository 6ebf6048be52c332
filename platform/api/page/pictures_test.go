package page

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

func TestAJobsPicturesAreOnItsPage(t *testing.T) {
	_, h := samples()
	page := get(h, "/jobs/"+completed).Body.String()
	require.Contains(t, page, `<img src="/jobs/`+completed+`/pictures/explained-variance.svg" alt="Variance explained by the components"`)
	require.NotContains(t, get(h, "/jobs/"+running).Body.String(), "Pictures")
	for _, name := range []string{"explained-variance", "evil"} {
		w := get(h, "/jobs/"+completed+"/pictures/"+name+".svg")
		require.Equal(t, 200, w.Code)
		require.Equal(t, "image/svg+xml", w.Header().Get("Content-Type"))
		require.Equal(t, "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'", w.Header().Get("Content-Security-Policy"))
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		for decoder := xml.NewDecoder(w.Body); ; {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			if element, ok := token.(xml.StartElement); ok {
				require.NotContains(t, []string{"script", "img", "image", "a", "foreignObject"}, element.Name.Local)
			}
		}
	}
}

func TestAPictureThatIsNotThereIsAPageWithStatus404(t *testing.T) {
	_, h := samples()
	for _, path := range []string{
		"/jobs/" + completed + "/pictures/none.svg", "/jobs/" + completed + "/pictures/explained-variance",
		"/jobs/" + running + "/pictures/explained-variance.svg", "/jobs/none/pictures/explained-variance.svg",
	} {
		w := get(h, path)
		require.Equal(t, 404, w.Code, path)
		require.Contains(t, w.Header().Get("Content-Type"), "text/html")
	}
}

// By day and by night, without a script, on the page and as pages of their own.
func TestInABrowserPicturesAreShown(t *testing.T) {
	tab := openTab(t)
	_, server := serve(t)
	_, err := chromedp.Call(tab.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(t, err)
	for scheme, card := range map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(26, 31, 39)"} {
		_, err := chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		require.NoError(t, err)
		tab.open(chromedp.Navigate(server.URL + "/jobs/" + completed))
		tab.do(chromedp.WaitVisible(chromedp.CSS("#pictures img")))
		require.Equal(t, 2, eval[int](tab, `[...document.querySelectorAll("#pictures img")].filter((i) => i.complete && i.naturalWidth > 400).length`))
		tab.open(tab.click("#pictures a"))
		require.Equal(t, card, eval[string](tab, `getComputedStyle(document.querySelector("path")).fill`))
	}
	tab.sound(server.URL)
	require.True(t, strings.HasSuffix(eval[string](tab, "location.pathname"), "/pictures/explained-variance.svg"))
}
