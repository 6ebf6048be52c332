// Package truncate shortens texts.
package truncate

// Characters returns the first limit characters of text.
func Characters(text string, limit int) string {
	for end := range text {
		if limit == 0 {
			return text[:end]
		}
		limit--
	}
	return text
}
