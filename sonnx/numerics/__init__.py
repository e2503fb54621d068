"""What operators share: formats, order, rounding, exact sums, certified products, windows."""
