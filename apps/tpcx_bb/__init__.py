"""The streaming queries Q1, Q2, Q3, Q4 and Q15 of TPCx-BB as ordered pipelines (ordered-multicore section 7, table 1)."""
