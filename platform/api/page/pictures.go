package page

import (
	"net/http"
	"slices"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform/picture"
)

// A pictureView is a picture of a job's page, an image that the browser fetches.
type pictureView struct {
	Title, URL    string
	Width, Height int
}

// A picturesView is the section of the pictures; it is not there where there are none.
type picturesView struct {
	Problem  string
	Pictures []pictureView
}

func (p *pages) pictures(name string) picturesView {
	pictures, err := p.jobs.Pictures(name)
	if err != nil {
		return picturesView{Problem: "The pictures cannot be had: " + err.Error()}
	}
	var view picturesView
	for _, described := range pictures {
		view.Pictures = append(view.Pictures, pictureView{
			Title: described.Title, URL: jobURL(name) + "/pictures/" + described.Name + ".svg",
			Width: picture.Width, Height: picture.Height,
		})
	}
	return view
}

// picture draws a picture. It is an image or a page of its own, which says how it looks in itself and loads nothing.
func (p *pages) picture(w http.ResponseWriter, r *http.Request) error {
	if _, err := p.describe(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	pictures, err := p.jobs.Pictures(r.PathValue("name"))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(pictures, func(d algospec.Picture) bool { return d.Name+".svg" == r.PathValue("file") })
	if i < 0 {
		return notFound("The job has no such picture.")
	}
	svg, err := picture.SVG(pictures[i])
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Write(svg)
	return nil
}
