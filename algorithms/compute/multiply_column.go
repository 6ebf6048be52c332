package compute

// column multiplies sparse rows with one column, of so many stored numbers. Transposed it is one goroutine's work: to find the
// columns that are its own would take each of several as long as to add to all.
func (m *product) column(stored int) {
	const factor = 2 // multiplications that one of a gathered number is worth
	if m.transposed {
		m.scatter()
		return
	}
	m.e.run((*gatherProduct)(m), (m.c.Rows+pieceRows-1)/pieceRows, factor*float64(stored))
}

// A gatherProduct multiplies sparse rows with one column: a piece is pieceRows rows.
type gatherProduct product

func (t *gatherProduct) do(_ *scratch, piece int) {
	m := (*product)(t)
	s, b, stride := m.x.S, m.b.Data, m.b.Stride
	for i := piece * pieceRows; i < min((piece+1)*pieceRows, m.c.Rows); i++ {
		columns := s.Indices[s.Indptr[i]:s.Indptr[i+1]]
		values := s.Data[s.Indptr[i]:s.Indptr[i+1]]
		var s0, s1, s2, s3 float32
		for len(columns) >= 4 && len(values) >= 4 {
			s0 += values[0] * b[int(columns[0])*stride]
			s1 += values[1] * b[int(columns[1])*stride]
			s2 += values[2] * b[int(columns[2])*stride]
			s3 += values[3] * b[int(columns[3])*stride]
			columns, values = columns[4:], values[4:]
		}
		for l, j := range columns {
			s0 += values[l] * b[int(j)*stride]
		}
		m.c.Data[i*m.c.Stride] += (s0 + s1) + (s2 + s3)
	}
}

// scatter adds transposed sparse rows times a column to c, of which only the elements of stored numbers are touched.
func (m *product) scatter() {
	s, c, stride := m.x.S, m.c.Data, m.c.Stride
	for i := range m.b.Rows {
		v := m.b.Data[i*m.b.Stride]
		columns := s.Indices[s.Indptr[i]:s.Indptr[i+1]]
		values := s.Data[s.Indptr[i]:s.Indptr[i+1]][:len(columns)]
		for l, j := range columns {
			c[int(j)*stride] += values[l] * v
		}
	}
}
