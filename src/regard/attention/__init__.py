"""The mathematics of attention: in NumPy for reading, in compiled loops for speed."""
