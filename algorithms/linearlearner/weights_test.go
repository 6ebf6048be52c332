package linearlearner_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms/linearlearner"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/recordio"
)

// weighted returns the rows as RecordIO-protobuf with weights, and as CSV.
func (rows table) weighted(t *testing.T, weight func(i int) float32) (records, csv []byte) {
	t.Helper()
	var b, text bytes.Buffer
	w := recordio.NewWriter(&b)
	for i, row := range rows {
		require.NoError(t, w.WriteRow(row[1:], row[0], weight(i)))
		for j, x := range append([]float32{row[0], weight(i)}, row[1:]...) {
			if j > 0 {
				text.WriteByte(',')
			}
			text.WriteString(strconv.FormatFloat(float64(x), 'g', -1, 32))
		}
		text.WriteByte('\n')
	}
	require.NoError(t, w.Flush())
	return b.Bytes(), text.Bytes()
}

// noisy are rows of which some have labels that are wrong.
func noisy(predictorType string, n int) table {
	rows := random(predictorType, n, 4, false, 7)
	for i := range rows {
		if i%5 == 0 && predictorType == "binary_classifier" {
			rows[i][0] = 1 - rows[i][0]
		}
		if i%5 == 0 && predictorType == "multiclass_classifier" {
			rows[i][0] = float32(i/5) - 4*float32(i/20)
		}
	}
	return rows
}

// A row of weight 3 is three rows, and one of weight 0 is none: in the exact solution, and in all metrics. Only the scaler takes rows as they are,
// which makes no difference where squares of weights count nothing.
func TestAWeightIsSoManyRows(t *testing.T) {
	for _, c := range []struct {
		parameters hyperparams.Map
		series     []string
	}{
		{regression("40"), []string{"mse_objective <loss>", "mse <loss>", "absolute_loss <loss>", "r2 <loss>"}},
		{binary("40", "wd", "0"), []string{"binary_classification_cross_entropy_objective <loss>", "binary_classification_accuracy <score>", "precision <score>", "recall <score>", "roc_auc_score <score>", "binary_log_loss <score>"}},
		{multiclass("4", "40", "wd", "0.000001"), []string{"multiclass_cross_entropy_objective <loss>", "multiclass_accuracy <score>", "macro_recall <score>", "dcg <score>", "multiclass_top_k_accuracy_3 <score>"}},
	} {
		c.parameters["_exact"] = "true"
		rows := noisy(c.parameters["predictor_type"], 400)
		weight := func(i int) float32 { return float32(i * 7 % 4) }
		var repeated table
		for i, row := range rows {
			for range int(weight(i)) {
				repeated = append(repeated, row)
			}
		}
		want, wantLog := train(t, c.parameters, "", map[string][]byte{"train": repeated.encode(t, false)})
		c.parameters["_sample_weights"] = "true"
		records, csv := rows.weighted(t, weight)
		for contentType, data := range map[string][]byte{"": records, "text/csv;label_size=2": csv} {
			got, log := train(t, c.parameters, contentType, map[string][]byte{"train": data, "validation": data})
			require.InDeltaSlice(t, want.Weights.Data, got.Weights.Data, 2e-3)
			for _, series := range c.series {
				require.InDelta(t, quality(t, wantLog, "train "+series), quality(t, log, "train "+series), 1e-3, series)
				require.Equal(t, quality(t, log, "train "+series), quality(t, log, "validation "+series), series)
			}
		}
	}
}

// All rows' weights twice as large make the same model, bit for bit, and rows of no weight teach nothing.
func TestWeightsAreRelative(t *testing.T) {
	rows := random("binary_classifier", 1000, 5, false, 8)
	var models []*linearlearner.Model
	for _, weight := range []float32{1, 2} {
		records, _ := rows.weighted(t, func(int) float32 { return weight })
		model, _ := train(t, binary("50", "_sample_weights", "true"), "", map[string][]byte{"train": records})
		models = append(models, model)
	}
	plain, _ := train(t, binary("50"), "", map[string][]byte{"train": rows.encode(t, false)})
	models = append(models, plain)
	require.Equal(t, models[0], models[1])
	require.Equal(t, models[0], models[2])

	var wrong table // half the rows say the opposite
	for i, row := range rows {
		row = append([]float32(nil), row...)
		if i%2 == 1 {
			row[0] = 1 - row[0]
		}
		wrong = append(wrong, row)
	}
	records, _ := wrong.weighted(t, func(i int) float32 { return float32(1 - i%2) })
	_, log := train(t, binary("50", "_sample_weights", "true"), "", map[string][]byte{"train": records, "validation": records})
	require.Greater(t, quality(t, log, "train binary_classification_accuracy <score>"), 0.95)
	require.Greater(t, quality(t, log, "validation roc_auc_score <score>"), 0.98)
}

func TestWeightsThatAreNoneAreRefused(t *testing.T) {
	rows := random("binary_classifier", 20, 3, false, 9)
	p := parse(t, binary("10", "_sample_weights", "true"))
	negative, _ := rows.weighted(t, func(i int) float32 { return 1 - float32(i/13) - float32(i/13) })
	nothing, _ := rows.weighted(t, func(int) float32 { return 0 })
	for want, data := range map[string][]byte{
		"channel train: record 13: the weight is -1, want a number from 0 on":                                                                 negative,
		"channel train: no record in it has a weight, of the first 20":                                                                        nothing,
		"channel train: record 0: 1 labels, want 2, the label and the weight, as _sample_weights says (text/csv;label_size=2 has both first)": rows.encode(t, false),
	} {
		_, err := linearlearner.Fit(t.Context(), channel.Memory(data), p)
		require.EqualError(t, err, want)
	}
	weights, _ := rows.weighted(t, func(int) float32 { return 1 })
	_, err := linearlearner.Fit(t.Context(), channel.Memory(weights), parse(t, binary("10")))
	require.EqualError(t, err, "channel train: record 0: 2 labels, want 1")
}

func TestLabelsThatAreNoneAreNamed(t *testing.T) {
	for want, m := range map[string]hyperparams.Map{
		"channel train: record 3: the label is 7, want 0 or 1":                                             binary("2"),
		"channel train: record 3: the label is 7, want a whole number from 0 to 4, which num_classes says": multiclass("5", "2"),
	} {
		_, err := linearlearner.FitChannels(t.Context(), parse(t, m), &channel.Channel{
			Name: "train", Source: channel.Memory([]byte(strings.Repeat("1,2\n", 3) + "7,2\n")), Config: channel.Config{ContentType: "text/csv"},
		}, nil)
		require.EqualError(t, err, want)
	}
}
