package hyperparams

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// unknownError helps the user who gave a name that is not declared, and keeps the
// phrase of the built-in algorithms, which people search for.
func (d *declaration) unknownError(name string) error {
	const original = "Additional properties are not allowed ('%s' was unexpected)"
	phrase := fmt.Sprintf(original, escape(name))
	if hint := d.hint(name); hint != "" {
		return fmt.Errorf("%w (%s): %s", ErrUnknown, hint, phrase)
	}
	return fmt.Errorf("%w: %s", ErrUnknown, phrase)
}

// hint names what the user may have meant or, if nothing is near, all there is if
// that is little.
func (d *declaration) hint(name string) string {
	if meant := d.nearest(name); meant != "" {
		return "did you mean " + meant + "?"
	}
	var names []string
	for _, f := range d.fields {
		if !reserved(f.name) {
			names = append(names, f.name)
		}
	}
	if len(names) == 0 || len(names) > 8 {
		return ""
	}
	return "known: " + strings.Join(names, ", ")
}

// nearest returns the declared name with the fewest edits from the unknown one, to
// itself or to its aka, among those that are near enough; "" if none is.
func (d *declaration) nearest(unknown string) string {
	const longestName = 256 // the limit of the service
	if len(unknown) > longestName {
		return ""
	}
	unknown = normal(unknown)
	nearest, fewest := "", -1
	for _, f := range d.fields {
		for _, name := range append([]string{f.name}, f.aka...) {
			edits := levenshtein.ComputeDistance(unknown, normal(name))
			if near(unknown, normal(name), edits) && (fewest < 0 || edits < fewest) {
				nearest, fewest = f.name, edits
			}
		}
	}
	return nearest
}

// near reports whether one name may stand for the other: a third of the letters
// differ at most (epoch, epochs), or the words of one are all in the other
// (max_iter, local_lloyd_max_iter).
func near(a, b string, edits int) bool {
	return 3*edits <= max(len(a), len(b)) || hasWords(a, b) || hasWords(b, a)
}

// hasWords reports whether all words of part, one at least, are words of name.
func hasWords(name, part string) bool {
	have, want := wordsOf(name), wordsOf(part)
	missing := func(word string) bool { return !slices.Contains(have, word) }
	return len(want) > 0 && !slices.ContainsFunc(want, missing)
}

func wordsOf(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '_' })
}

// normal makes K, mini-batch-size and "mini batch size" look like declared names.
func normal(name string) string {
	return strings.NewReplacer("-", "_", " ", "_", ".", "_").Replace(strings.ToLower(name))
}
