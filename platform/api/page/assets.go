package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"asset": assetURL, "ago": ago, "brief": brief, "bytes": size, "clock": clock, "duration": duration,
	"job": jobURL, "segment": url.PathEscape, "stamp": stamp,
}).ParseFS(templateFiles, "templates/*.html"))

// render makes HTML of a template. What came from others may be no UTF-8; that is mended here, for all of it.
func render(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return "", err
	}
	return template.HTML(strings.ToValidUTF8(b.String(), "\ufffd")), nil
}

func write(w http.ResponseWriter, status int, html template.HTML) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write([]byte(html))
}

// versions are the assets' digests, by name.
var versions = func() map[string]string {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err)
	}
	digests := map[string]string{}
	for _, e := range entries {
		content, err := assetFiles.ReadFile(path.Join("assets", e.Name()))
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		digests[e.Name()] = hex.EncodeToString(sum[:8])
	}
	return digests
}()

// assetURL names an asset together with its version, so that browsers keep it for as long as it is the same.
func assetURL(name string) string { return "/assets/" + name + "?v=" + versions[name] }

func asset(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("file")
	version, ok := versions[name]
	if !ok {
		return notFound("There is no such file.")
	}
	content, err := assetFiles.ReadFile(path.Join("assets", name))
	if err != nil {
		return err
	}
	w.Header().Set("ETag", `"`+version+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	return nil
}
